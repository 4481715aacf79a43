// What clients were told, and the rules about it: what is final is final, is what is stored, and is the same each time.
import { ownerOf } from '../programs/ids.ts'
import { toText, isObject, type Row, type Value } from '../store/rows.ts'

/**
 * By key, that it was refused, and not used. Of the answers that a key stores nobody need remember which was told: each
 * must be the one that is stored, and that one never changes.
 */
export type Refusals = Readonly<Record<number, 'refused'>>

export const NO_REFUSALS: Refusals = {}

interface ClientAnswer {
  readonly key: number
  /** It was another request under a key that is used. */
  readonly isMisuse: boolean
  readonly answer: Value
  /** The row of the key as it is then. */
  readonly row: Row | undefined
  /** The row as it was when a statement began that was executed later: what that row says was so then. */
  readonly rowAtSnapshot: Row | undefined
  /** Whether the amounts that other keys have asked for, whatever became of them, may have left too little. */
  readonly isOverCaptured: boolean
}

/** The refusal that writes nothing: what was to be refunded was not there to be. */
const REFUSAL = 'refund-exceeds-capture'

export function receiveAnswer(
  refusals: Refusals,
  { key, isMisuse, answer, row: currentRow, rowAtSnapshot, isOverCaptured }: ClientAnswer,
): { readonly refusals: Refusals; readonly broken: readonly string[] } {
  const { status, body, type, earlier } = isObject(answer) ? answer : {}
  const row =
    rowAtSnapshot?.['response_body'] === body && body !== null ? rowAtSnapshot : currentRow
  const shown = `${Number(status)}${type === null ? '' : ` ${toText(type)}`}`
  if (isMisuse) return { refusals, broken: checkMisuse(row, Number(status), type ?? null) }
  if (typeof body !== 'string') return { refusals, broken: [] }
  const final = { status: Number(status), body }
  if (row === undefined) {
    const isRefusal = type === REFUSAL && isOverCaptured
    const broken = isRefusal ? [] : [`3: a client was told ${shown} of a key that nobody has`]
    return { refusals: isRefusal ? { ...refusals, [key]: 'refused' } : refusals, broken }
  }
  const { life } = ownerOf(toText(row['id']))
  const broken: string[] = []
  if (row['response_status'] !== final.status || row['response_body'] !== body) {
    broken.push(`3: a client was told ${shown}, and that is not what is stored`)
  }
  if (life > 1 && earlier !== true) {
    broken.push('1: a key was used again, and its client was not told of its earlier life')
  }
  const { [key]: _, ...others } = refusals
  return { refusals: others, broken }
}

/** Whoever asks for something else under a used key is refused; where it came first, it is the other that is. */
function checkMisuse(row: Row | undefined, status: number, type: Value): string[] {
  const isRefused = status === 422 && type === 'idempotency-key-reused'
  if (row === undefined || isRefused || status >= 500) return []
  return [`3: another request under a used key was told ${status}`]
}
