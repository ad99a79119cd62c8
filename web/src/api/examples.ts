// What the house would begin: an example of each format, by the format's name. Each folder knows what is in its own.
import { api, take } from "./client";

export async function examples<Known>(): Promise<Known> {
  return (await take(api.GET("/v1/examples"))).examples as Known;
}
