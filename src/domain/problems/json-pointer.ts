// Finds text in parsed JSON: in strings, numbers and member names. Builds RFC 6901 pointers that are safe to show: they name a place in a request body, but never
// repeat text of it that could be a secret.

// At most eight digits: too few for a card number, enough for `address_line1`.
const PLAIN_NAME = /^(?!(?:\D*\d){9})[A-Za-z_]\w{0,39}$/

/**
 * The RFC 6901 pointer of a path of member names and array indexes. It ends before the first name
 * that is not a short plain identifier, so it points to the nearest parent that is safe to show.
 */
export function jsonPointer(path: readonly PropertyKey[]): string {
  const hidden = path.findIndex((part) => typeof part !== 'number' && !isPlainName(part))
  const shown = hidden === -1 ? path : path.slice(0, hidden)
  // Plain names contain neither `~` nor `/`, the two characters that a pointer would have to
  // escape.
  return shown.map((part) => `/${String(part)}`).join('')
}

function isPlainName(part: string | symbol): boolean {
  return typeof part === 'string' && PLAIN_NAME.test(part)
}

/**
 * @returns the RFC 6901 pointer of the first text for which the test is true (for a member name: of
 *   the object), or undefined. The pointer contains plain member names only, see `jsonPointer`.
 */
export function findText(
  value: unknown,
  isFound: (text: string) => boolean,
  path: readonly PropertyKey[] = [],
): string | undefined {
  if (typeof value === 'string' || typeof value === 'number') {
    return isFound(String(value)) ? jsonPointer(path) : undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const members = Array.isArray(value) ? value.entries() : Object.entries(value)
  for (const [name, member] of members) {
    if (isFound(String(name))) return jsonPointer(path)
    const pointer = findText(member, isFound, [...path, name])
    if (pointer !== undefined) return pointer
  }
  return undefined
}
