// The API, typed by its own description. What goes wrong is one kind of error, with words that can be shown.
import createClient from "openapi-fetch";

import type { paths } from "./schema";

export const api = createClient<paths>({ baseUrl: "" });

/** A request that was not granted, or could not be made. */
export class Problem extends Error {
  constructor(
    message: string,
    readonly code: string,
    readonly status: number,
    readonly context: Record<string, unknown> = {},
  ) {
    super(message);
  }

  /** Whether the server wants a token first. */
  get wantsToken(): boolean {
    return this.status === 401;
  }
}

interface Answered<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** What was answered; a refusal is thrown as a {@link Problem}. */
export async function take<T>(answer: Promise<Answered<T>>): Promise<T> {
  let got: Answered<T>;
  try {
    got = await answer;
  } catch {
    throw unreachable();
  }
  if (!got.response.ok) throw told(got.error, got.response.status);
  return got.data as T;
}

/** The problem that an answer's body tells of. */
export function told(body: unknown, status: number): Problem {
  const error = (body as { error?: { code?: string; message?: string; context?: Record<string, unknown> } } | undefined)
    ?.error;
  const problem = new Problem(
    error?.message ? sentence(error.message) : `The server answered with ${status}.`,
    error?.code ?? "INTERNAL",
    status,
    error?.context,
  );
  if (problem.wantsToken) listeners.forEach((listener) => listener());
  return problem;
}

export function unreachable(): Problem {
  return new Problem("The server cannot be reached. Is it still running?", "UNREACHABLE", 0);
}

/** What can be shown of anything that was thrown. */
export function problemOf(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  return new Problem(thrown instanceof Error ? thrown.message : String(thrown), "INTERNAL", 0);
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(first) ? first : `${first}.`;
}

const listeners = new Set<() => void>();

/** Calls back when the server wants a token. */
export function onTokenWanted(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
