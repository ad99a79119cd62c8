// A server that wants a token: one field, a wrong token, signing in, what works then, and signing out.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { clean, closeBrowser, open, Server, shoot, signIn } from "./harness.js";

const TOKEN = "open-sesame-0123456789";

let server;
before(async () => (server = await Server.start({ token: TOKEN })));
after(async () => {
  await closeBrowser();
  await server.stop();
});

const field = (page) => page.getByLabel("Token");

test("the field, a wrong token, the right one", async () => {
  const page = await open(server, "/sessions", { signsIn: false });
  await field(page).waitFor();
  assert.ok(await field(page).evaluate((element) => element === document.activeElement), "one can type at once");
  assert.equal(await page.getByRole("button", { name: "Sign out" }).count(), 0);
  await shoot(page, "login");
  await field(page).fill("not-this-one");
  await page.keyboard.press("Enter");
  await page.getByText("This is none of the server’s tokens.").waitFor();
  await shoot(page, "login-wrong");
  await signIn(page, TOKEN);
  await page.getByText("Nothing has been said here yet.").waitFor();
  assert.equal(new URL(page.url()).pathname, "/sessions");
  await clean(page);
});

test("streams and clips work, a reload keeps one signed in, and signing out ends it", async () => {
  const page = await open(server, "/chorus");
  await page.getByLabel("Your message to the chorus").fill("What is a home?");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("link", { name: "Replay" }).waitFor({ timeout: 60_000 });
  const clip = page.waitForResponse(/\/v1\/audio\//);
  await page.getByRole("button", { name: "Hear turn 1" }).click();
  assert.ok((await clip).ok());
  await page.getByRole("button", { name: "Stop turn 1" }).click();
  await page.reload();
  await page.getByText("A home is where the light was left on for you.").first().waitFor();
  await shoot(page, "login-signed-in");

  page.isUnsigned = true;
  await page.getByRole("button", { name: "Sign out" }).click();
  await field(page).waitFor();
  assert.equal(await page.getByText("A home is where").count(), 0);
  await page.reload();
  await field(page).waitFor();
  assert.equal(await page.getByRole("button", { name: "Sign out" }).count(), 0);
  await clean(page);
});

test("a room and a discussion go on after signing in", async () => {
  const page = await open(server, "/room/locked");
  await page.locator("textarea").fill("@gpt What is a cloud?");
  await page.keyboard.press("Enter");
  await page.getByText("A cloud is water that has not decided where to fall.").waitFor();
  await page.getByRole("link", { name: "Polylogue" }).click();
  await page.getByRole("button", { name: /Repair the roof/ }).click();
  await page.getByText("It waits for you.").waitFor();
  await clean(page);
});

test("a refusal that comes late does not ask for the token again", async () => {
  const page = await open(server, "/sessions", { signsIn: false });
  await field(page).waitFor();
  await page.goto("about:blank");
  // What the home page asks first is refused only when somebody has signed in meanwhile.
  let refuse;
  const isSignedIn = new Promise((resolve) => (refuse = resolve));
  await page.route("**/v1/ready", async (route) => {
    await isSignedIn;
    await route.fulfill({ status: 401, json: { success: false, error: { code: "UNAUTHORIZED", message: "too late", context: {} } } });
  }, { times: 1 });
  await page.goto(`${server.origin}/`);
  await signIn(page, TOKEN);
  const asked = page.waitForResponse((response) => response.url().endsWith("/v1/agents") && response.ok());
  refuse();
  await asked;
  await page.getByRole("heading", { name: "Who should talk, and about what?" }).waitFor();
  assert.equal(await field(page).count(), 0);
  await clean(page);
});
