// Generates requests with random changes that may or may not be valid. Any documented answer is
// allowed.
import * as fc from 'fast-check'
import type { Parts } from './defects/defect.ts'
import { mutations, type Members } from './defects/fields.ts'
import { utf8, type Case } from './draft.ts'
import { goodParts, toDraft, weightOf } from './good-requests.ts'
import { operations, type Operation } from './operations.ts'
import { escapedText, headerText } from './values.ts'

type Change = (parts: Parts) => Parts

function openCasesOf(operation: Operation): fc.Arbitrary<Case> {
  const changes = fc.array(fc.oneof(...looseChanges(operation)), { maxLength: 3 })
  return fc.tuple(goodParts(operation), changes).map(([parts, some]) => ({
    label: `${operation.id}: ${some.length} changes`,
    operation: operation.id,
    draft: toDraft(some.reduce((now, change) => change(now), parts)),
    types: [],
  }))
}

function looseChanges({ target, pathId, body }: Operation): fc.Arbitrary<Change>[] {
  const query = fc.tuple(escapedText, escapedText).map(([name, value]): Change => (parts) => ({
    ...parts,
    query: [...parts.query, `${name}=${value}`],
  }))
  const path = escapedText.map((text): Change => (parts) => ({
    ...parts,
    path:
      pathId === undefined
        ? `${target}${text === '' ? '' : `/${text}`}`
        : target.replace(pathId, () => text),
  }))
  const header = fc
    .tuple(
      fc.constantFrom('idempotency-key', 'prefer', 'traceparent', 'accept', 'if-match'),
      headerText(0, 300),
    )
    .map(([name, value]): Change => (parts) => ({
      ...parts,
      headers: { ...parts.headers, [name]: [value] },
    }))
  if (body === undefined) return [query, path, header]
  const fields = fc.array(fc.oneof(...mutations), { minLength: 1, maxLength: 3 }).map(
    (some): Change =>
      (parts) =>
        changeJson(parts, (value) => some.reduce((now, one) => one(now), value)),
  )
  const bytes = fc
    .array(fc.tuple(fc.nat(), fc.nat({ max: 255 }), fc.boolean()), { minLength: 1, maxLength: 4 })
    .map((some): Change => (parts) => ({
      ...parts,
      body: some.reduce(changeByte, parts.body ?? ''),
    }))
  return [query, path, header, fields, fields, fields, bytes, bytes]
}

/** Changes the body if it is JSON. */
function changeJson(parts: Parts, change: (value: Members) => Members): Parts {
  try {
    const value = JSON.parse(Buffer.from(parts.body ?? '{}', 'latin1').toString()) as Members
    return { ...parts, body: utf8(JSON.stringify(change(value))) }
  } catch {
    return parts
  }
}

function changeByte(
  text: string,
  [place, code, isMore]: readonly [number, number, boolean],
): string {
  const at = place % (text.length + 1)
  return text.slice(0, at) + String.fromCharCode(code) + text.slice(isMore ? at : at + 1)
}

/** A request that may be valid. */
export const openCases: fc.Arbitrary<Case> = fc.oneof(
  ...operations.map((operation) => ({
    weight: weightOf(operation),
    arbitrary: openCasesOf(operation),
  })),
)
