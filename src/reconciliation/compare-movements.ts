// Compares what moved on the provider's balance with the ledger, one to one. What has been reported of a
// payment or refund already is the cause of whatever its movement shows, and not reported again.
import {
  findBookedCaptures,
  findBookedRefunds,
  type Booked,
  type BookedTransaction,
} from '../db/booked-movements.ts'
import { findReported } from '../db/findings.ts'
import {
  noteSeen,
  seenCapture,
  seenRefund,
  unseenAmong,
  walkUnseenBookings,
} from '../db/reconciliation-seen.ts'
import { inTransaction } from '../db/transaction.ts'
import type { ProviderMovement } from '../provider/payment-provider.ts'
import { askForCheck, eachPage, report, type Comparison } from './comparison.ts'
import {
  judgeMovement,
  missingMovement,
  repeatedMovement,
  subjectOfMovement,
} from './judge-movement.ts'
import type { Difference, Verdict } from './verdict.ts'

type Page = readonly ProviderMovement[]

/** Holds every movement of the window against the ledger. */
export async function compareMovements(comparison: Comparison): Promise<void> {
  const { parts, run } = comparison
  await eachPage(comparison, 'movements', parts.provider.listMovements(run), async (page) => {
    const booked = await findBooked(comparison, page)
    const verdicts = page.map((movement) => judgeMovement(booked.get(nameOf(movement)), movement))
    for (const [index, movement] of page.entries()) {
      const ours = booked.get(nameOf(movement))
      if (verdicts[index]?.verdict === 'unknown' && ours) await askForCheck(comparison, ours)
      if (verdicts[index]?.verdict === 'in_motion') comparison.counts.in_motion += 1
    }
    // What is repeated is known by what was noted before, so that the two are one transaction.
    await inTransaction(parts.store.sql, async (tx) => {
      const noted = await noteSeen(tx, run.id, page.flatMap(namesToNote))
      const repeated = repeatedIn(page, noted).map((movement) =>
        repeatedMovement(booked.get(nameOf(movement)), movement),
      )
      const differences = differencesIn([...verdicts, ...repeated])
      const causes = await findReported(tx, run.provider, page.flatMap(idsIn))
      const own = new Map(page.map((movement) => [movement.movementId, idsIn(movement)]))
      const fresh = differences.filter(
        ({ objectId }) => !own.get(objectId)?.some((id) => causes.has(id)),
      )
      await report(comparison, fresh, tx)
    })
  })
}

/** The name under which both sides know what has moved. */
function nameOf(movement: ProviderMovement): string {
  const id = subjectOfMovement(movement) ?? ''
  return movement.kind === 'capture' ? seenCapture(id) : seenRefund(id)
}

function namesToNote(movement: ProviderMovement): string[] {
  return subjectOfMovement(movement) === null
    ? [movement.movementId]
    : [movement.movementId, nameOf(movement)]
}

function idsIn({ providerPaymentId, providerRefundId }: ProviderMovement): string[] {
  return [providerPaymentId, providerRefundId].filter((id) => id !== null)
}

function differencesIn(verdicts: readonly Verdict[]): Difference[] {
  const differences = verdicts.flatMap((verdict) =>
    verdict.verdict === 'differs' ? verdict.differences : [],
  )
  // One that is repeated and of another amount, too, is one finding.
  const byFinding = new Map(differences.map((found) => [`${found.kind} ${found.objectId}`, found]))
  return [...byFinding.values()]
}

/** Movements that are new to the run, of what was seen to move before, on this page or an earlier one. */
function repeatedIn(page: Page, noted: ReadonlySet<string>): ProviderMovement[] {
  const moved = new Set<string>()
  return page.filter((movement) => {
    const name = nameOf(movement)
    const isNew = noted.has(movement.movementId) && subjectOfMovement(movement) !== null
    const isFirst = noted.has(name) && !moved.has(name)
    moved.add(name)
    return isNew && !isFirst
  })
}

async function findBooked({ parts, run }: Comparison, page: Page): Promise<Map<string, Booked>> {
  const { sql } = parts.store
  const idsOf = (kind: ProviderMovement['kind']) =>
    page
      .filter((movement) => movement.kind === kind)
      .flatMap((movement) => subjectOfMovement(movement) ?? [])
  const captures = await findBookedCaptures(sql, run.provider, idsOf('capture'))
  const refunds = await findBookedRefunds(sql, run.provider, idsOf('refund'))
  return new Map([
    ...captures.map((booked) => [seenCapture(booked.objectId), booked] as const),
    ...refunds.map((booked) => [seenRefund(booked.objectId), booked] as const),
  ])
}

/** Holds what was booked in the window, and that no page had, against the provider's movements. */
export async function compareUnseenBookings(comparison: Comparison): Promise<void> {
  const { parts, run } = comparison
  const { sql } = parts.store
  for await (const page of walkUnseenBookings(sql, run)) {
    const causes = await findReported(
      sql,
      run.provider,
      page.map(({ objectId }) => objectId),
    )
    const unexplained = page.filter(({ objectId }) => !causes.has(objectId))
    if (unexplained.length === 0) continue
    await noteMovementsOf(comparison, unexplained)
    const unseen = new Set(await unseenAmong(sql, run.id, unexplained.map(bookedName)))
    const missing = unexplained.filter((booked) => unseen.has(bookedName(booked)))
    await report(comparison, differencesIn(missing.map(missingMovement)))
  }
}

function bookedName({ kind, objectId }: BookedTransaction): string {
  return kind === 'capture' ? seenCapture(objectId) : seenRefund(objectId)
}

/** The clocks of the provider and of our database may be off by that much. */
const CLOCKS_APART_MS = 60 * 60 * 1_000

/**
 * Notes the movements of all the time in which these can have been made: what was asked for on one day
 * can move on another, and what has moved can be learned and booked later still.
 */
async function noteMovementsOf(
  { parts, run, signal }: Comparison,
  booked: readonly BookedTransaction[],
): Promise<void> {
  const { sql } = parts.store
  const names = new Set(booked.map(bookedName))
  const window = {
    from: new Date(Math.min(...booked.map(({ askedAt }) => askedAt.getTime())) - CLOCKS_APART_MS),
    to: new Date(Math.max(...booked.map(({ createdAt }) => createdAt.getTime())) + CLOCKS_APART_MS),
  }
  for await (const page of parts.provider.listMovements(window)) {
    signal.throwIfAborted()
    const found = page.map(nameOf).filter((name) => names.has(name))
    await noteSeen(sql, run.id, found)
  }
}
