// Checks during a soak what can be checked before its end: operations only move forward and are
// recorded by their owner, no payment is captured twice, and no log contains a secret.
import { setTimeout as delay } from 'node:timers/promises'
import { isStoreUnavailable } from '../../../src/db/connection/store-errors.ts'
import { checkMoves } from '../checks.ts'
import {
  checkClaims,
  checkLateRecords,
  checkRepeatedRecords,
  readLateRecords,
  readRepeatedRecords,
} from '../fencing.ts'
import type { Lane } from '../lane.ts'
import { readMoves } from '../moves.ts'
import type { Violation } from '../results.ts'
import { checkSecrecy } from '../secrecy.ts'
import type { Merchant } from '../merchant.ts'

const EVERY_MS = 15_000

/** Returns the violations found until the end, without duplicates. */
export async function checkDuringSoak(
  lane: Lane,
  merchant: Merchant,
  over: AbortSignal,
): Promise<Violation[]> {
  const found = new Map<string, Violation>()
  const keep = (violations: readonly Violation[]) => {
    for (const violation of violations) found.set(JSON.stringify(violation), violation)
  }
  while (!over.aborted) {
    await delay(EVERY_MS, undefined, { signal: over }).catch(() => {})
    // Reading the log lines removes them, so none may be skipped.
    keep(checkLog(lane, merchant))
    keep(await checkRecords(lane, merchant).catch(ignoreStoreOutage))
  }
  return [...found.values()]
}

/** While the store is away nothing can be checked. */
function ignoreStoreOutage(error: unknown): Violation[] {
  if (isStoreUnavailable(error)) return []
  throw error
}

function checkLog(lane: Lane, { tenant }: Merchant): Violation[] {
  const secrets = [...lane.secrets, tenant.apiKey]
  return checkSecrecy({ secrets, texts: { 'a log': lane.takeLines() } })
}

async function checkRecords(lane: Lane, { tenant }: Merchant): Promise<Violation[]> {
  const { owner } = lane
  const moves = await readMoves(owner, tenant.id)
  const late = await readLateRecords(owner, tenant.id)
  const repeated = await readRepeatedRecords(owner, tenant.id)
  return [
    ...checkMoves(moves),
    ...checkClaims(moves),
    ...checkLateRecords(late),
    ...checkRepeatedRecords(repeated),
    ...(await findChargedTwice(lane)),
  ]
}

/** Uses the provider's own log. */
async function findChargedTwice({ provider }: Lane): Promise<Violation[]> {
  const executed = await provider.listExecuted()
  const captures = executed.filter(({ kind }) => kind === 'payment_intent.capture')
  const byPayment = Map.groupBy(captures, ({ metadata }) => metadata['atomic_payment'] ?? 'nothing')
  return [...byPayment]
    .filter(([, own]) => own.length > 1)
    .map(([id, own]) => ({ invariant: 1, what: `${id} was captured ${own.length} times` }))
}
