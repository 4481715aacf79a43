// What of the invariants can be judged while a soak goes on: operations only move forward, by whoever holds them,
// nothing is charged twice, and no log tells a secret.
import { setTimeout as delay } from 'node:timers/promises'
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
  while (!over.aborted) {
    await delay(EVERY_MS, undefined, { signal: over }).catch(() => {})
    // While the store is away there is nothing to judge by.
    const violations = await judgeNow(lane, shop).catch(() => [])
    for (const violation of violations) found.set(JSON.stringify(violation), violation)
  }
  return [...found.values()]
}

export async function judgeNow(lane: Lane, { tenant }: Shop): Promise<Violation[]> {
  const { owner } = lane
  const secrets = [...lane.secrets, tenant.apiKey]
  const told = checkSecrecy({ secrets, texts: { 'a log': lane.takeLines() } })
  const moves = await readMoves(owner, tenant.id)
  const late = await readLateRecords(owner, tenant.id)
  const repeated = await readRepeatedRecords(owner, tenant.id)
  return [
    ...told,
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
