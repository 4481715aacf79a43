// Finds what a label or an option names, in a table of the suite.

/** @throws Error when there is none of that name. */
export function findNamed<One extends { readonly name: string }>(
  what: string,
  all: readonly One[],
  name: string,
): One {
  const found = all.find((one) => one.name === name)
  if (found !== undefined) return found
  const names = all.map((one) => `  ${one.name}`).join('\n')
  throw new Error(`unknown ${what} "${name}"; the ${what}s are\n${names}`)
}
