// Checks the invariants of ARCHITECTURE.md on the change of the store by a transition. Each message
// begins with the number of its invariant.
import type { Product } from '../programs/product.ts'
import { type Database, jsonOf, type Row, toText, type Value } from '../store/rows.ts'

/** Orders the recovery points: none is reached after one with a higher rank. */
export const rankOf = (recoveryPoint: Value | undefined): number =>
  RECOVERY_POINT_RANKS[toText(recoveryPoint)] ?? -1

const RECOVERY_POINT_RANKS: Readonly<Record<string, number>> = {
  started: 0,
  moved: 1,
  authorized: 2,
  refused: 3,
  kept: 4,
  captured: 5,
  finished: 6,
}

/** Checks what a transition changed in the store. */
export function checkStep(
  { operationMoves }: Product,
  before: Database,
  after: Database,
): string[] {
  const rows = keysOf(after)
  const steps = keysOf(before).flatMap((row) => {
    const next = rows.find(({ id }) => id === row['id'])
    return next === undefined
      ? checkDeletedKey(after, row)
      : checkChangedOperation(operationMoves, row, next)
  })
  return [...steps, ...checkLedgerIsAppendOnly(before, after)]
}

function checkChangedOperation(
  allowedMoves: Product['operationMoves'],
  row: Row,
  next: Row,
): string[] {
  const { id, status: from } = row
  const violations: string[] = []
  const [rank, nextRank] = [rankOf(row['recovery_point']), rankOf(next['recovery_point'])]
  if (nextRank < rank) {
    violations.push(`6: the recovery point moved back to ${toText(next['recovery_point'])}`)
  }
  const generations = Number(next['key_generation']) - Number(row['key_generation'])
  const mayAdvance = from === 'unknown' && next['status'] === 'failed_retryable'
  if (generations !== 0 && !(generations === 1 && mayAdvance)) {
    violations.push(`6: the provider key of ${toText(id)} changed without a proof of absence`)
  }
  const isStatusChange = jsonOf(row) !== jsonOf(next) && from !== next['status']
  if (
    isStatusChange &&
    !allowedMoves.some((move) => move.from === from && move.to === next['status'])
  ) {
    violations.push(`6: an operation changed from ${toText(from)} to ${toText(next['status'])}`)
  }
  if (from === 'completed' && jsonOf(answerOf(row)) !== jsonOf(answerOf(next))) {
    violations.push('3: a stored answer changed')
  }
  if (next['in_doubt'] === false && row['in_doubt'] === true && from === 'processing') {
    const isStep = nextRank !== rank || next['status'] === 'failed_retryable'
    if (!isStep) violations.push(`7: in_doubt of ${toText(id)} was cleared without a step`)
  }
  return violations
}

const answerOf = ({ response_status, response_headers, response_body }: Row) => [
  response_status,
  response_headers,
  response_body,
]

/** A key is deleted only after it expired, and its tombstone must name what it created. */
function checkDeletedKey(after: Database, row: Row): string[] {
  const isDeletable = row['status'] === 'completed' && Number(row['expires_at']) < 0
  if (!isDeletable)
    return [`1: a key was deleted that is ${toText(row['status'])} or has not expired`]
  const hasTombstone = (after['key_tombstones'] ?? []).some(
    (tombstone) =>
      tombstone['payment_id'] === row['payment_id'] && tombstone['refund_id'] === row['refund_id'],
  )
  return hasTombstone ? [] : ['1: a key was deleted without a tombstone']
}

function checkLedgerIsAppendOnly(before: Database, after: Database): string[] {
  const now = new Set((after['ledger_postings'] ?? []).map(jsonOf))
  const isUnchanged = (before['ledger_postings'] ?? []).every((row) => now.has(jsonOf(row)))
  return isUnchanged ? [] : ['4: a ledger posting was changed or deleted']
}

const keysOf = (database: Database): readonly Row[] => database['idempotency_keys'] ?? []
