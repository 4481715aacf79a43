// Checks the answers that clients receive: a final answer equals the stored one, and so is the same
// every time.
import { ownerOf } from '../programs/ids.ts'
import { toText, isObject, type Row, type Value } from '../store/rows.ts'

/**
 * By key: a request was refused, and the key is unused. Stored answers need not be tracked: each
 * answer must equal the stored one, and the stored one never changes.
 */
export type Refusals = Readonly<Record<number, 'refused'>>

export const NO_REFUSALS: Refusals = {}

interface ClientAnswer {
  readonly key: number
  /** Whether it was a different request under a used key. */
  readonly isMisuse: boolean
  readonly answer: Value
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
  readonly types: readonly ('refund-exceeds-capture' | 'customer-not-found' | 'invalid-state')[]
  readonly isCertain: boolean
}

export function receiveAnswer(
  refusals: Refusals,
  { key, isMisuse, answer, row: currentRow, rowAtSnapshot, refusal }: ClientAnswer,
): { readonly refusals: Refusals; readonly violations: readonly string[] } {
  const { status, body, type, earlier } = isObject(answer) ? answer : {}
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
 * A different request under a used key is refused with 422. If it came first, the key is its own
 * and the other request is refused.
 */
function checkMisuse(row: Row | undefined, status: number, type: Value): string[] {
  const isRefused = status === 422 && type === 'idempotency-key-reused'
  if (row === undefined || isRefused || status >= 500) return []
  return [`3: a different request under a used key received ${status}`]
}
