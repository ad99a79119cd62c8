// A freshly built page in front of a binary that has an older one inside: files come from a folder, everything else
// from the binary. With it the page is tested without compiling anything. What it answers for a file is what the binary
// would: the same policy, and the page itself at every address of a view.
import { createServer, request } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, resolve, sep } from "node:path";

const API = /^\/(v1|api|docs|openapi\.json|healthz|readyz|metrics)(\/|\?|$)/;
const KINDS = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** Serves `folder` and passes the rest on to the binary at `port`. */
export async function startFront(folder, port) {
  const { headers } = await fetch(`http://127.0.0.1:${port}/`, { headers: { accept: "text/html" } });
  const policy = headers.get("content-security-policy");
  const root = resolve(folder);

  async function file(path, answer) {
    const wanted = join(root, decodeURIComponent(path));
    const isInside = wanted.startsWith(root + sep) && extname(wanted) in KINDS;
    const found = isInside ? await readFile(wanted).catch(() => undefined) : undefined;
    const content = found ?? (await readFile(join(root, "index.html")));
    answer.setHeader("content-type", KINDS[found ? extname(wanted) : ".html"]);
    if (policy) answer.setHeader("content-security-policy", policy);
    answer.end(content);
  }

  function pass(asked, answer) {
    const { url, method, headers } = asked;
    const onward = request({ host: "127.0.0.1", port, path: url, method, headers }, (got) => {
      answer.writeHead(got.statusCode, got.headers);
      answer.flushHeaders();
      got.pipe(answer);
      // A binary that is killed takes its connections along.
      got.once("aborted", () => answer.destroy());
    });
    onward.once("error", () => answer.destroy());
    answer.once("close", () => onward.destroy());
    onward.setNoDelay(true);
    asked.pipe(onward);
  }

  const front = createServer((asked, answer) => {
    if (API.test(asked.url)) return pass(asked, answer);
    file(asked.url.split("?")[0], answer).catch(() => answer.destroy());
  });
  front.listen(0, "127.0.0.1");
  await new Promise((done) => front.once("listening", done));
  return {
    origin: `http://127.0.0.1:${front.address().port}`,
    close() {
      front.closeAllConnections();
      front.close();
    },
  };
}
