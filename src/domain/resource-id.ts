// Ids as clients see them: a UUIDv7 as a TypeID, a prefix and 26 characters of base 32.
// https://github.com/jetify-com/typeid/tree/main/spec
import { TypeID } from 'typeid-js'

export type IdPrefix =
  | 'pay'
  | 're'
  | 'evt'
  | 'ltx'
  | 'we'
  | 'wd'
  | 'op'
  | 'rec'
  | 'fnd'
  | 'tnt'
  | 'key'
  | 'act'

export function showId(prefix: IdPrefix, id: string): string {
  return TypeID.fromUUID(prefix, id).toString()
}

/** The UUID behind an id with that prefix, or undefined when the text is not one. */
export function parseId(prefix: IdPrefix, text: string): string | undefined {
  try {
    return TypeID.fromString(text, prefix).toUUID()
  } catch {
    // The package reports a malformed id by throwing; to a caller it is just no id of ours.
    return undefined
  }
}
