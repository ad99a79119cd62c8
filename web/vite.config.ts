import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// While the page is worked on, `npm run dev` passes the API on to a server that runs here.
const server = process.env.POLYLOGUE ?? "http://127.0.0.1:7654";
const api = ["/v1", "/api", "/openapi.json", "/docs"];

export default defineConfig({
  plugins: [svelte()],
  build: {
    target: "es2022",
    // The built files are committed: the same source gives the same bytes.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: Object.fromEntries(api.map((path) => [path, { target: server }])) },
});
