// Paper or night: as the system has it, until somebody chooses here.

class Theme {
  isNight = $state(false);

  constructor() {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const read = () => {
      const chosen = document.documentElement.dataset["theme"];
      this.isNight = chosen === undefined ? system.matches : chosen === "night";
    };
    system.addEventListener("change", read);
    read();
  }

  toggle(): void {
    this.isNight = !this.isNight;
    const theme = this.isNight ? "night" : "paper";
    document.documentElement.dataset["theme"] = theme;
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // It holds until the page is left.
    }
  }
}

export const theme = new Theme();
