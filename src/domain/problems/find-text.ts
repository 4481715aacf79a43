// Finds text in parsed JSON: in strings, numbers and member names.
import { jsonPointer } from './json-pointer.ts'

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
