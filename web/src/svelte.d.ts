// Components without a script have no types of their own.
declare module "*.svelte" {
  import type { Component } from "svelte";
  const component: Component;
  export default component;
}
