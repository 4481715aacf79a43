// Converts ids to and from their public form. Inside they are UUIDv7; clients see TypeIDs: a prefix
// and 26 characters of base 32.
// https://github.com/jetify-com/typeid/tree/main/spec
import { TypeID } from 'typeid-js'

export type IdPrefix =
  | 'pay'
  | 're'
  | 'dp'
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

/** The UUID of a public id with this prefix; undefined when the text is not such an id. */
export function parseId(prefix: IdPrefix, text: string): string | undefined {
  try {
    return TypeID.fromString(text, prefix).toUUID()
  } catch {
    // The package throws on a malformed id. For callers it is the same as an unknown id.
    return undefined
  }
}
