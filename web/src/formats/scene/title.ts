// A scene's name as a title: `the-apology` is The Apology. What has capitals or spaces stays as it was written.

export function titled(name: string): string {
  const isIdentifier = !/[\p{Lu}\s]/u.test(name);
  const words = (isIdentifier ? name.replace(/[-_]/g, " ") : name).split(/[\s\p{Cc}]+/u).filter(Boolean);
  return (isIdentifier ? words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)) : words).join(" ");
}
