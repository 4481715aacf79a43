// Checks the answers that clients receive: a final answer equals the stored one, and so is the same
// every time.
import { ownerOf } from '../programs/ids.ts'
import type { Instance } from './instance.ts'
import { toText, isObject, type Row, type Value } from '../store/rows.ts'

/**
 * By key: a request was refused and the key is unused, or its failed operation was superseded by
 * another one with its reference. Stored answers need not be tracked: each answer must equal the
 * stored one, and the stored one never changes.
 */
export type Refusals = Readonly<Record<number, 'refused' | 'superseded'>>

export const NO_REFUSALS: Refusals = {}

interface ClientAnswer {
  readonly key: number
  /** Whether it was a different request under a used key. */
  readonly isMisuse: boolean
  readonly answer: Value
  /** The ids that its process drew for rows, with the ids of the rows. */
  readonly canonicalIds: Instance['names']
  /** The row of the key when the answer arrives. */
  readonly row: Row | undefined
  /**
   * The row in the snapshot of the last statement, if the statement began earlier than it was
   * executed. The answer may describe this version.
   */
  readonly rowAtSnapshot: Row | undefined
  /** The refusal that writes nothing, where the request may get it. */
  readonly refusal: Refusal | undefined
}

/** How it is refused, and whether each request with the key is. */
export interface Refusal {
  readonly types: readonly (
    | 'refund-exceeds-capture'
    | 'customer-not-found'
    | 'invalid-state'
    | 'duplicate-reference'
  )[]
  readonly isCertain: boolean
  /** The ids of the payments and refunds, of which it has to name one. */
  readonly names?: readonly string[]
}

export function receiveAnswer(
  refusals: Refusals,
  { key, isMisuse, answer, canonicalIds, row: currentRow, rowAtSnapshot, refusal }: ClientAnswer,
): { readonly refusals: Refusals; readonly violations: readonly string[] } {
  const { status, body, type, earlier, named } = isObject(answer) ? answer : {}
  const row =
    rowAtSnapshot?.['response_body'] === body && body !== null ? rowAtSnapshot : currentRow
  const answerText = `${Number(status)}${type === null ? '' : ` ${toText(type)}`}`
  const isRefused = refusal?.types.some((one) => one === type) === true
  if (refusal?.isCertain === true && Number(status) < 500 && !isRefused) {
    const violation = `3: a client received ${answerText} for a request that must be refused`
    return { refusals, violations: [violation] }
  }
  if (isMisuse) return { refusals, violations: checkMisuse(row, Number(status), type ?? null) }
  if (typeof body !== 'string') return { refusals, violations: [] }
  const final = { status: Number(status), body }
  if (type === 'duplicate-reference') {
    const [, id = named] = canonicalIds.find(([drawn]) => drawn === named) ?? []
    return receiveDuplicate(refusals, key, { id: toText(id), row, refusal })
  }
  if (row === undefined) {
    const violations = isRefused
      ? []
      : [`3: a client received ${answerText} for a key without an operation`]
    return { refusals: isRefused ? { ...refusals, [key]: 'refused' } : refusals, violations }
  }
  const { life } = ownerOf(toText(row['id']))
  const violations: string[] = []
  if (row['response_status'] !== final.status || row['response_body'] !== body) {
    violations.push(`3: a client received ${answerText}, which differs from the stored answer`)
  }
  if (life > 1 && earlier !== true) {
    violations.push('1: a key was used again, and the answer does not mention its earlier life')
  }
  const { [key]: _, ...others } = refusals
  return { refusals: others, violations }
}

/**
 * Another payment or refund uses the reference, and the answer names it. The key is unused, or its
 * operation has failed.
 */
function receiveDuplicate(
  refusals: Refusals,
  key: number,
  { id, row, refusal }: Pick<ClientAnswer, 'row' | 'refusal'> & { readonly id: string },
): { readonly refusals: Refusals; readonly violations: readonly string[] } {
  const isNamed = refusal?.names?.includes(id) === true
  const violations = [
    ...(isNamed ? [] : ['3: a client received duplicate-reference, which names no other request']),
    // The reaper may have ended the failed operation meanwhile.
    ...(row?.['status'] === 'completed' && row['response_status'] !== 408
      ? ['3: a client received duplicate-reference for a key with a stored answer']
      : []),
  ]
  const refused = row === undefined ? 'refused' : 'superseded'
  return { refusals: { ...refusals, [key]: refused }, violations }
}

/**
 * A different request under a used key is refused with 422. If it came first, the key is its own
 * and the other request is refused.
 */
function checkMisuse(row: Row | undefined, status: number, type: Value): string[] {
  const isRefused = status === 422 && type === 'idempotency-key-reused'
  if (row === undefined || isRefused || status >= 500) return []
  return [`3: a different request under a used key received ${status}`]
}
