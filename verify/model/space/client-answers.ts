// Checks how a program or one of its members ended: with an error, or with a client's answer. A final
// answer equals the stored one, and so is the same every time.
import { ownerOf } from '../programs/ids.ts'
import type { Database, Row, Value } from '../store/rows.ts'
import { CONNECTION_LOST, isObject, toText } from '../store/rows.ts'
import type { Automaton } from '../programs/automaton.ts'
import type { MemberResult } from '../programs/run.ts'
import type { Instance } from './instance.ts'
import type { Refusals, SearchContext } from './search-context.ts'
import { AMOUNT_MINOR, REFUND_MINOR } from './space.ts'
import { AND, MISUSE } from './starts.ts'
import { rowOfKey } from './canonical.ts'
import type { Effect } from './effect.ts'

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
interface Refusal {
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

function receiveAnswer(
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

interface EndingResult {
  readonly refusals: number
  readonly violations: readonly string[]
}

const NO_VIOLATIONS: readonly string[] = []

export class EndingChecks {
  readonly #automaton: Automaton
  readonly #context: SearchContext
  readonly #results = new Map<string, EndingResult>()

  constructor(automaton: Automaton, context: SearchContext) {
    this.#automaton = automaton
    this.#context = context
  }

  /** @param refusals the refusals before. */
  check(refusals: number, instance: Instance, { ended, database, results }: Effect): EndingResult {
    const { kind, snapshot, node } = instance
    const error = ended?.error
    if (error !== undefined) return { refusals, violations: checkError(kind, error) }
    if (kind !== 'send' || results.length === 0) return { refusals, violations: NO_VIOLATIONS }
    const ids = JSON.stringify(instance.names)
    const name = `${refusals} ${database} ${snapshot} ${node} ${ids} ${JSON.stringify(results)}`
    const cached = this.#results.get(name)
    if (cached !== undefined) return cached
    const result = this.#receiveAnswers(refusals, instance, database, results)
    this.#results.set(name, result)
    return result
  }

  #receiveAnswers(
    refusals: number,
    { members, snapshot, node, names }: Instance,
    database: number,
    results: readonly MemberResult[],
  ): EndingResult {
    const { refusalSets, databases } = this.#context
    const value = databases.valueOf(database)
    const requests = this.#automaton.nameOf(this.#automaton.nodeOf(node)).split(AND)
    const violations: string[] = []
    let after = refusalSets.valueOf(refusals)
    for (const { member, result } of results) {
      const key = members[member]?.key ?? -1
      const received = receiveAnswer(after, {
        key,
        refusal: this.#refusalOf(value, key),
        isMisuse: requests[member]?.startsWith(MISUSE) === true,
        answer: result,
        canonicalIds: names,
        row: rowOfKey(value, key),
        rowAtSnapshot: snapshot < 0 ? undefined : rowOfKey(databases.valueOf(snapshot), key),
      })
      after = received.refusals
      violations.push(...received.violations)
    }
    return { refusals: refusalSets.idOf(after), violations }
  }

  #refusalOf(database: Database, key: number): Refusal | undefined {
    const { refusedKeys, oneReference } = this.#context.space
    if (refusedKeys.includes(key)) return { types: ['customer-not-found'], isCertain: true }
    if (oneReference) {
      const names = othersWithReference(database, key)
      return { types: ['duplicate-reference'], isCertain: false, names }
    }
    // The refunds that other keys requested, with any result, may leave too little for this one. When
    // the refund of a cancellation has failed meanwhile, enough is left again.
    const types = [
      'refund-exceeds-capture',
      ...(this.#context.space.appliers > 0 ? (['invalid-state'] as const) : []),
    ] as const
    return refundedByOthersMinor(database, key) + REFUND_MINOR > AMOUNT_MINOR
      ? { types, isCertain: false }
      : undefined
  }
}

/** The payments and refunds with a reference that other keys requested. */
function othersWithReference({ payments = [], refunds = [] }: Database, key: number): string[] {
  const others = (rows: readonly Row[]) =>
    rows.filter((row) => row['reference'] !== null && ownerOf(toText(row['id'])).key !== key)
  return [...others(payments), ...others(refunds)].map(({ id }) => toText(id))
}

/** The amount that other keys requested to refund. */
function refundedByOthersMinor({ refunds = [] }: Database, key: number): number {
  return refunds
    .filter(({ id }) => ownerOf(toText(id)).key !== key)
    .reduce((sum, row) => sum + Number(row['amount_minor']), 0)
}

/**
 * A lost connection may end maintenance, because its next run repeats the work. No other error may.
 */
function checkError(kind: string, error: string): readonly string[] {
  return error.includes(CONNECTION_LOST) ? NO_VIOLATIONS : [`bug: ${kind} ends with ${error}`]
}
