// Compares the movements on the provider's balance with the ledger, one to one. A difference that
// was already reported for the payment, refund or dispute explains its movement, which is not
// reported again.
import { inService } from '../db/connection/transaction.ts'
import type { OtherMovement, ProviderMovement } from '../provider/payment-provider.ts'
import { disputeRecords, refundRecords } from './record-kinds.ts'
import { compareObject } from './compare-records.ts'
import { findReported, notComparedAmong, recordCompared, seenMovement } from './compared-objects.ts'
import {
  eachPage,
  logRepeats,
  nameTenant,
  report,
  requestCheck,
  throwIfEnded,
  withRetries,
  type Comparison,
} from './comparison.ts'
import {
  judgeMovement,
  missingMovement,
  movementEvidence,
  subjectOfMovement,
  unknownMovementEvidence,
} from './judge-movement.ts'
import { differencesIn, type Difference } from './judge-record.ts'
import {
  comparedIdsOf,
  findLedgerMovements,
  findRecords,
  walkMissingMovements,
  type LedgerMovement,
  type MissingMovement,
} from './our-records.ts'
import { postProviderFees } from './provider-fees.ts'

type Page = readonly ProviderMovement[]

/** Compares every movement of the window with the ledger, and posts the fees of those that agree. */
export async function compareMovements(comparison: Comparison): Promise<void> {
  const { provider, run } = comparison
  const pages = provider.listMovements(run, logRepeats(comparison))
  await eachPage(comparison, 'movements', pages, async (page) => {
    await compareOtherMovements(comparison, page.filter(isOther))
    await compareWithLedger(comparison, page.filter(isOfPayment))
  })
}

const isOther = (movement: ProviderMovement | OtherMovement): movement is OtherMovement =>
  movement.kind === 'account' || movement.kind === 'unknown'
const isOfPayment = (movement: ProviderMovement | OtherMovement): movement is ProviderMovement =>
  !isOther(movement)

/** Counts those of the account, and reports every other one. */
async function compareOtherMovements(
  comparison: Comparison,
  page: readonly OtherMovement[],
): Promise<void> {
  const { sql, run, counts } = comparison
  const unknown = page.filter(({ kind }) => kind === 'unknown')
  counts.account_movements += page.length - unknown.length
  const named = unknown.flatMap(({ providerPaymentId }) => comparedIdsOf(providerPaymentId))
  const payments = await findRecords(sql, 'payments', run.provider, named)
  const differences: Difference[] = []
  for (const theirs of unknown) {
    const ours = payments.find((one) => one.providerPaymentId === theirs.providerPaymentId)
    const unnamed = differencesIn(['unknown_movement'], unknownMovementEvidence, ours, theirs)
    differences.push(...(ours ? unnamed : await nameTenant(comparison, unnamed, theirs)))
  }
  await report(comparison, differences)
}

async function compareWithLedger(comparison: Comparison, page: Page): Promise<void> {
  const { sql, run, counts, signal } = comparison
  const ourOf = await findOurs(comparison, page)
  const judged = page.map((movement) => {
    const ours = ourOf(movement)
    return { movement, ours, verdict: judgeMovement(ours, movement) }
  })
  for (const { movement, ours, verdict } of judged) {
    signal.throwIfAborted()
    if (verdict === 'unknown' && ours) await requestCheck(comparison, ours)
    if (verdict === 'in_motion') counts.in_motion += 1
    if (verdict === 'moved_on') await followMovement(comparison, movement)
  }
  await postProviderFees(
    comparison,
    judged.filter(({ verdict }) => verdict.length === 0),
  )
  // Repetitions are detected by the recorded names, so both are part of one transaction.
  await inService(sql, async (tx) => {
    const newNames = await recordCompared(tx, run.id, page.flatMap(namesToRecord))
    const repeated = repeatedIn(page, newNames)
    const reportedIds = await findReported(tx, run, page.flatMap(idsIn))
    const differences = judged.flatMap(({ movement, ours, verdict }) => {
      if (idsIn(movement).some((id) => reportedIds.has(id))) return []
      const kinds = new Set(typeof verdict === 'string' ? [] : verdict)
      if (repeated.has(movement)) kinds.add('ledger_differs')
      return differencesIn([...kinds], movementEvidence, ours, movement)
    })
    await report(comparison, differences, tx)
  })
}

/** Compares what the movement moved: it has moved on, and is not posted yet. */
async function followMovement(
  comparison: Comparison,
  { providerRefundId, providerDisputeId }: ProviderMovement,
): Promise<void> {
  if (providerDisputeId !== null) await compareObject(comparison, disputeRecords, providerDisputeId)
  else await compareObject(comparison, refundRecords, providerRefundId ?? '')
}

/** The name of the movement by what it moved, which both sides know; null if the provider names nothing. */
function nameOf(movement: ProviderMovement): string | null {
  const subject = subjectOfMovement(movement)
  return subject && seenMovement(movement.kind, subject)
}

const namesToRecord = (movement: ProviderMovement): string[] =>
  [movement.movementId, nameOf(movement)].filter((name) => name !== null)

const idsIn = (movement: ProviderMovement): string[] =>
  [movement.providerPaymentId, movement.providerRefundId, movement.providerDisputeId].filter(
    (id) => id !== null,
  )

/**
 * Movements that are new to the run, but whose name already moved, on this page or an earlier one:
 * money that can only move once.
 */
function repeatedIn(page: Page, newNames: ReadonlySet<string>): ReadonlySet<ProviderMovement> {
  const movedNames = new Set<string>()
  const repeated = page.filter((movement) => {
    const name = nameOf(movement)
    if (name === null) return false
    const isFirst = newNames.has(name) && !movedNames.has(name)
    movedNames.add(name)
    return newNames.has(movement.movementId) && !isFirst
  })
  return new Set(repeated)
}

/**
 * Finds the ledger movement of each movement: that of our payment or refund that names the
 * provider's object. If there is none, that of the one which the provider's object names: while an
 * operation is working on it, ours does not know the provider's id yet.
 */
async function findOurs(
  { sql, run }: Comparison,
  page: Page,
): Promise<(movement: ProviderMovement) => LedgerMovement | undefined> {
  const found = new Map<string, LedgerMovement>()
  for (const [kind, movements] of Map.groupBy(page, (movement) => movement.kind)) {
    const wanted = movements.flatMap((movement) =>
      comparedIdsOf(subjectOfMovement(movement), movement.correlation, ourIdIn(movement)),
    )
    for (const ours of await findLedgerMovements(sql, run.provider, kind, wanted)) {
      found.set(seenMovement(kind, ours.id), ours)
      if (ours.objectId !== null) found.set(seenMovement(kind, ours.objectId), ours)
    }
  }
  return (movement) =>
    found.get(nameOf(movement) ?? '') ??
    found.get(seenMovement(movement.kind, ourIdIn(movement) ?? ''))
}

/** The payment or refund of ours that the provider's record names. */
const ourIdIn = ({ kind, correlation }: ProviderMovement): string | null =>
  correlation && (kind === 'capture' ? correlation.paymentId : correlation.refundId)

/** Compares ledger movements of the window that no page contained with the provider's. */
export async function compareUnseenLedgerMovements(comparison: Comparison): Promise<void> {
  const { sql, run } = comparison
  for await (const page of walkMissingMovements(sql, run)) {
    await throwIfEnded(comparison)
    const ids = page.map(({ objectId }) => objectId)
    const reportedIds = await findReported(sql, run, ids)
    const unexplained = page.filter(({ objectId }) => !reportedIds.has(objectId))
    const missing = [
      ...(await missingOfDisputes(comparison, unexplained.filter(isOfDispute))),
      ...(await missingInLists(
        comparison,
        unexplained.filter((ours) => !isOfDispute(ours)),
      )),
    ]
    await report(comparison, missing.map(missingMovement))
  }
}

const isOfDispute = ({ kind }: MissingMovement): boolean =>
  kind === 'dispute' || kind === 'dispute_reversal'

/** A dispute names its movements itself, and a list of them could begin months ago. */
async function missingOfDisputes(
  comparison: Comparison,
  ours: readonly MissingMovement[],
): Promise<MissingMovement[]> {
  const { provider, signal } = comparison
  const missing: MissingMovement[] = []
  for (const movement of ours) {
    signal.throwIfAborted()
    const theirs = await withRetries(comparison, () => provider.readDispute(movement.objectId))
    // Its provider status cannot be read, which the comparison of disputes has reported.
    if (theirs !== undefined && theirs.providerStatus === undefined) continue
    const { withdrawnMinor = 0, reinstatedMinor = 0 } = theirs?.providerStatus ?? {}
    const movedMinor = movement.kind === 'dispute' ? withdrawnMinor : reinstatedMinor
    if (movedMinor < movement.amountMinor) missing.push(movement)
  }
  return missing
}

const nameOfOurs = ({ kind, objectId }: MissingMovement): string => seenMovement(kind, objectId)

/** The clocks of the provider and of our database may differ by this much. */
const CLOCKS_APART_MS = 60 * 60 * 1_000

/**
 * Looks for these ledger movements in the provider's lists, records those that it finds as compared, and
 * returns the others. It searches the whole time in which they can have happened: money requested on one
 * day can move on another, and the service can learn of it and post it even later.
 */
async function missingInLists(
  comparison: Comparison,
  ours: readonly MissingMovement[],
): Promise<readonly MissingMovement[]> {
  if (ours.length === 0) return []
  const { sql, provider, run, signal } = comparison
  const oursByName = new Map(ours.map((movement) => [nameOfOurs(movement), movement]))
  // Not read from the recorded names: another worker that completes the same run deletes those.
  const movedNames = new Set<string>()
  const requested = ours.map(({ requestedAt }) => requestedAt.getTime())
  const posted = ours.map(({ createdAt }) => createdAt.getTime())
  const window = {
    from: new Date(Math.min(...requested) - CLOCKS_APART_MS),
    to: new Date(Math.max(...posted) + CLOCKS_APART_MS),
  }
  for await (const page of provider.listMovements(window, logRepeats(comparison))) {
    signal.throwIfAborted()
    // One movement per name is recorded under its own id as well. So a later try of this run does
    // not take it for a repetition, but still recognizes another movement as one.
    const byName = new Map(page.filter(isOfPayment).map((movement) => [nameOf(movement), movement]))
    const names = [...oursByName.keys()].filter((name) => byName.has(name))
    if (names.length === 0) continue
    for (const name of names) movedNames.add(name)
    const pairs = (await notComparedAmong(sql, run.id, names)).flatMap((name) => {
      const [movement, ofOurs] = [byName.get(name), oursByName.get(name)]
      return movement && ofOurs ? [{ movement, ours: ofOurs }] : []
    })
    await recordCompared(
      sql,
      run.id,
      pairs.flatMap(({ movement }) => namesToRecord(movement)),
    )
    await postProviderFees(comparison, pairs.filter(isSame))
  }
  return ours.filter((movement) => !movedNames.has(nameOfOurs(movement)))
}

/** Only the fee of a movement that agrees is posted. */
const isSame = (pair: { movement: ProviderMovement; ours: MissingMovement }): boolean =>
  pair.movement.amountMinor === pair.ours.amountMinor &&
  pair.movement.currency === pair.ours.currency
