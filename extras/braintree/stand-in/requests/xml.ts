// Renders answers in Braintree's XML: names with dashes, and the types that its packages read from
// attributes. Requests are JSON.
import { XMLBuilder } from 'fast-xml-parser'

export type Member =
  | string
  | number
  | boolean
  | Date
  | null
  | readonly Member[]
  | { readonly [name: string]: Member }

const builder = new XMLBuilder({
  ignoreAttributes: false,
  suppressEmptyNode: true,
  suppressBooleanAttributes: false,
})

/** The document with this root. `refundIds: ['a']` becomes `<refund-ids type="array"><item>a</item>`. */
export function renderXml(root: string, members: Member): string {
  const document: unknown = builder.build({ [dashed(root)]: nodeOf(members) })
  return `<?xml version="1.0" encoding="UTF-8"?>\n${String(document)}`
}

const ITEMS: ReadonlyMap<string, string> = new Map([
  ['statusHistory', 'status-event'],
  ['disputes', 'dispute'],
  ['errors', 'error'],
])

function nodeOf(member: Member, name = ''): unknown {
  if (member === null) return { '@_nil': 'true' }
  if (Array.isArray(member)) {
    const items = (member as readonly Member[]).map((item) => nodeOf(item))
    return { '@_type': 'array', [ITEMS.get(name) ?? 'item']: items }
  }
  if (member instanceof Date) return { '@_type': 'datetime', '#text': showTime(member) }
  if (typeof member === 'number') return { '@_type': 'integer', '#text': member }
  if (typeof member === 'boolean') return { '@_type': 'boolean', '#text': String(member) }
  if (typeof member === 'string') return member
  const entries = Object.entries(member)
  return Object.fromEntries(entries.map(([key, value]) => [dashed(key), nodeOf(value, key)]))
}

/** In whole seconds. */
const showTime = (time: Date): string => `${time.toISOString().slice(0, 19)}Z`

function dashed(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
