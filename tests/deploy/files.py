"""The files of deploy/ fit each other, the Dockerfile, the API and the binary. Prints a line for each that does not."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import urllib.parse

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
LABELS = {"app.kubernetes.io/name": "polylogue"}
failures = []


def check(holds, what, found=""):
    if not holds:
        failures.append(what)
        print(f"FAILED {what}: {found}" if found else f"FAILED {what}")


def settings_are_read(text, env):
    """Whether the binary takes these settings, on a store of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "polylogue.toml")
        path.write_text(text)
        command = [os.environ["POLYLOGUE"], "sessions", "list", "--config", path, "--store", f"sqlite:{folder}/s.db"]
        environment = {"PATH": os.environ["PATH"], **{name: "set" for name in env}}
        run = subprocess.run(command, env=environment, capture_output=True, text=True)
        check(run.returncode == 0, "the binary reads the settings", run.stderr.strip())


def compose():
    file = (DEPLOY / "compose.yaml").read_text()
    project = yaml.safe_load(file)
    services = project["services"]
    nodes = {name: service for name, service in services.items() if name.startswith("node-")}
    check(len(nodes) == 3, "there are three nodes", list(nodes))
    for name, service in services.items():
        check(set(service.get("depends_on", ())) <= set(services), f"{name} depends on services that are there")
        for volume in service.get("volumes", ()):
            check(volume.split(":")[0] in project["volumes"], f"{name} has volumes that are there", volume)
        for config in service.get("configs", ()):
            check(config["source"] in project["configs"], f"{name} has configurations that are there", config)
    for config in project["configs"].values():
        check((DEPLOY / config["file"]).is_file(), "a configuration is a file", config["file"])

    offered = dict(line.split("=", 1) for line in (DEPLOY / ".env.example").read_text().splitlines() if "=" in line)
    named = set(re.findall(r"\$\{(\w+)", file))
    check(named == set(offered), "the variables are those of .env.example", named ^ set(offered))
    required = set(re.findall(r"\$\{(\w+):\?", file))
    check(list(offered)[: len(required)] and set(list(offered)[: len(required)]) == required, "what is required is first")
    check(not any(offered.values()), "no key is given away", offered)

    text = (DEPLOY / "polylogue.toml").read_text()
    settings = tomllib.loads(text)
    store = urllib.parse.urlsplit(settings["store"]["url"])
    database = services[store.hostname]["environment"]
    check(store.username == database["POSTGRES_USER"], "the store's user is the database's", store.username)
    check(store.path[1:] == database["POSTGRES_DB"], "the store's database is there", store.path)
    check(store.password is None, "the store's address has no password")
    check(urllib.parse.urlsplit(settings["cluster"]["nats"]).hostname in services, "NATS is a service")
    endpoint = urllib.parse.urlsplit(settings["artifacts"]["endpoint"])
    server = services[endpoint.hostname]["environment"]
    check(server["VGW_PORT"] == f":{endpoint.port}", "the S3 server listens where the nodes ask", server["VGW_PORT"])
    bucket = urllib.parse.urlsplit(settings["artifacts"]["url"]).hostname
    folder = f"{server['VGW_BACKEND_ARG']}/{bucket}"
    check(services["bucket"]["command"][-1] == folder, "the bucket is made", folder)

    dockerfile = (ROOT / "Dockerfile").read_text()
    port = re.search(r"(?m)^EXPOSE (\d+)", dockerfile)[1]
    balancer = (DEPLOY / "haproxy.cfg").read_text()
    servers = re.findall(r"(?m)^ +server (\S+) (\S+)$", balancer)
    check(servers == [(name, f"{name}:{port}") for name in nodes], "the balancer knows the nodes", servers)
    for name, node in nodes.items():
        check(f"0.0.0.0:{port}" in node["command"], f"{name} listens where it is looked for", node["command"])
        check(node["configs"][0]["target"] in node["command"], f"{name} reads its configuration")
        check(settings["store"]["password_env"] in node["environment"], f"{name} has the password of the store")
    checked = subprocess.run(["haproxy", "-c", "-f", DEPLOY / "haproxy.cfg"], capture_output=True, text=True)
    check(checked.returncode == 0, "HAProxy reads its configuration", checked.stderr)
    settings_are_read(text, nodes["node-1"]["environment"])
    return text


def kubernetes():
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
    kinds = {document["kind"]: document for document in documents}
    wanted = {"ConfigMap", "Deployment", "PodDisruptionBudget", "Service"}
    check(set(kinds) == wanted and len(documents) == len(wanted), "each kind is there once", list(kinds))
    deployment, budget = kinds["Deployment"]["spec"], kinds["PodDisruptionBudget"]["spec"]
    pod = deployment["template"]["spec"]
    container = pod["containers"][0]
    selectors = {
        "the Deployment": deployment["selector"]["matchLabels"],
        "the budget": budget["selector"]["matchLabels"],
        "the Service": kinds["Service"]["spec"]["selector"],
        "the spread": pod["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"],
        "the pod": deployment["template"]["metadata"]["labels"],
    }
    for who, labels in selectors.items():
        check(labels == LABELS, f"{who} means the nodes", labels)
    check(0 < budget["minAvailable"] < deployment["replicas"], "a node can be taken away, and not all", budget)
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    check(kinds["Service"]["spec"]["ports"][0]["targetPort"] in ports, "the Service finds the port")
    routes = json.loads((ROOT / "web/openapi.json").read_text())["paths"]
    for probe, path in (("startup", "/healthz"), ("readiness", "/readyz"), ("liveness", "/healthz")):
        asked = container[f"{probe}Probe"]["httpGet"]
        check(asked["path"] == path and path in routes, f"the {probe} probe asks {path}", asked)
        check(asked["port"] in ports, f"the {probe} probe finds the port", asked)
    dockerfile = (ROOT / "Dockerfile").read_text()
    user = int(re.search(r"(?m)^USER (\d+):", dockerfile)[1])
    check(pod["securityContext"]["runAsUser"] == user, "the user is the image's", user)
    check(ports["http"] == int(re.search(r"(?m)^EXPOSE (\d+)", dockerfile)[1]), "the port is the image's", ports)
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    check(set(mounts.values()) == set(volumes), "what is mounted is there", set(mounts.values()) ^ set(volumes))
    workdir = re.search(r"(?m)^WORKDIR (/var\S+)", dockerfile)[1]
    check("emptyDir" in volumes[mounts[workdir]], "the image's folder can be written", workdir)
    config = kinds["ConfigMap"]
    check(volumes[mounts["/etc/polylogue"]]["configMap"]["name"] == config["metadata"]["name"], "the settings are mounted")
    check("/etc/polylogue/polylogue.toml" in container["args"], "the settings are read", container["args"])
    pause = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    check(pod["terminationGracePeriodSeconds"] >= pause + 15, "there is time to end after the pause", pause)
    text = config["data"]["polylogue.toml"]
    check(urllib.parse.urlsplit(tomllib.loads(text)["store"]["url"]).password is None, "no password is in the settings")
    settings_are_read(text, ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD"])


compose()
kubernetes()
print(f"{len(failures)} failures" if failures else "The files of deploy/ fit.")
sys.exit(1 if failures else 0)
