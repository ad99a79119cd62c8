// What is behind a line: the request that was sent, the reply as it came, what it cost.
import { api, take } from "../api/client";
import type { Behind } from "../api/types";
import { count, dollars } from "../words";

export function behind(id: string, seq: number): Promise<Behind> {
  return take(api.GET("/v1/sessions/{id}/behind/{seq}", { params: { path: { id, seq } } }));
}

/** The figures in one line: `1,914 tokens, 1,702 cached · 1.8 s · $0.002`. */
export function figures(behind: Behind): string {
  const { usage } = behind;
  const cached = usage?.cached ? `, ${usage.cached.toLocaleString("en")} cached` : "";
  return [
    usage ? count(usage.input + usage.output, "token") + cached : undefined,
    behind.seconds == null ? undefined : `${behind.seconds.toFixed(1)} s`,
    dollars(behind.estimatedUSD ?? null),
    behind.retries > 0 ? count(behind.retries, "retry", "retries") : undefined,
    behind.repairs.length > 0 ? `put right: ${behind.repairs.map((repair) => repair.replaceAll("_", " ")).join(", ")}` : undefined,
  ]
    .filter((part) => part !== undefined)
    .join(" · ");
}

const ROLES: Record<string, string> = { system: "Persona and rules", user: "It was told", assistant: "It said" };

export function roleOf(role: string): string {
  return ROLES[role] ?? role;
}

const PARTS: Record<string, string> = {
  schema: "The form of the reply",
  maxOutputTokens: "Tokens at most",
  temperature: "Temperature",
  stop: "It stops at",
};

/** Everything else that was sent with the messages. */
export function otherwise(request: Behind["request"]): [string, string][] {
  return Object.entries(request)
    .filter(([name, value]) => name !== "messages" && value !== null && value !== undefined)
    .filter(([, value]) => !(Array.isArray(value) && value.length === 0))
    .map(([name, value]) => [PARTS[name] ?? name, typeof value === "string" ? value : JSON.stringify(value, null, 2)]);
}
