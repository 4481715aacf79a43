// What of the invariants can be judged while a soak goes on: operations only move forward, by whoever holds them,
// nothing is charged twice, and no log tells a secret.
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
import type { Shop } from '../shop.ts'

const EVERY_MS = 15_000

/** What was found until the end, each thing once. */
export async function judgeOnTheWay(
  lane: Lane,
  shop: Shop,
  over: AbortSignal,
): Promise<Violation[]> {
  const found = new Map<string, Violation>()
  const keep = (violations: readonly Violation[]) => {
    for (const violation of violations) found.set(JSON.stringify(violation), violation)
  }
  while (!over.aborted) {
    await delay(EVERY_MS, undefined, { signal: over }).catch(() => {})
    // What is read of the log is gone.
    keep(judgeLog(lane, shop))
    keep(await judgeRecords(lane, shop).catch(whenStoreIsAway))
  }
  return [...found.values()]
}

/** While it is there is nothing to judge by. */
function whenStoreIsAway(error: unknown): Violation[] {
  if (isStoreUnavailable(error)) return []
  throw error
}

function judgeLog(lane: Lane, { tenant }: Shop): Violation[] {
  const secrets = [...lane.secrets, tenant.apiKey]
  return checkSecrecy({ secrets, texts: { 'a log': lane.takeLines() } })
}

async function judgeRecords(lane: Lane, { tenant }: Shop): Promise<Violation[]> {
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

/** By the provider's own log. */
async function findChargedTwice({ provider }: Lane): Promise<Violation[]> {
  const executed = await provider.listExecuted()
  const captures = executed.filter(({ kind }) => kind === 'payment_intent.capture')
  const byPayment = Map.groupBy(captures, ({ metadata }) => metadata['atomic_payment'] ?? 'nothing')
  return [...byPayment]
    .filter(([, own]) => own.length > 1)
    .map(([id, own]) => ({ invariant: 1, what: `${id} was captured ${own.length} times` }))
}
