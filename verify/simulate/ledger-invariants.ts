// Checks the promises of the ledger: it matches the provider's log for each payment, and the
// balances are the sum of its entries.
import { disputedAt, ofKind, refundedAt, sumOf, type Facts, type Verdict } from './facts.ts'
import type { LedgerBalance } from './records.ts'

export function checkLedger({ records, executedFor }: Facts): Pick<Verdict, 'checked' | 'broken'> {
  const byPayment = Map.groupBy(records.ledger, ({ payment }) => payment)
  const broken = records.payments.flatMap(({ id, currency }) => {
    const captured = sumOf(ofKind(executedFor(id), 'payment_intent.capture'))
    const refunded = refundedAt(executedFor(id))
    const disputed = disputedAt(executedFor(id))
    const posted = balancesOf((byPayment.get(id) ?? []).flatMap(({ entries }) => entries))
    const at = (account: string) => posted.get(`${account} ${currency}`) ?? 0
    const isOfIts = [...posted.keys()].every((name) => name.endsWith(` ${currency}`))
    const owed = at('merchant_payable') + at('fees')
    const agrees =
      isOfIts &&
      at('provider_receivable') + at('provider_fees') === captured - refunded - disputed.amount &&
      owed === -captured &&
      at('refunds') === refunded &&
      at('disputes') === disputed.amount &&
      // A reconciliation also posts the fees of captures and refunds.
      at('provider_fees') >= disputed.fees
    if (agrees) return []
    const shown = [...posted].map(([account, amount]) => `${account} ${amount}`).join(', ')
    return [
      `${id}: ${captured} captured, ${refunded} refunded and ${disputed.amount} disputed, ledger: ${shown || 'nothing'}`,
    ]
  })
  return { checked: records.payments.length, broken }
}

export function checkBalances({ records }: Facts): Pick<Verdict, 'checked' | 'broken'> {
  const expected = balancesOf(records.balancesBefore)
  for (const entry of records.ledger.flatMap(({ entries }) => entries)) {
    add(expected, entry)
  }
  const shown = balancesOf(records.balancesAfter)
  const names = new Set([...expected.keys(), ...shown.keys()])
  const broken = [...names].flatMap((name) => {
    const [sum, balance] = [expected.get(name) ?? 0, shown.get(name) ?? 0]
    return sum === balance ? [] : [`${name}: ${sum} posted, ${balance} shown`]
  })
  return { checked: names.size, broken }
}

function balancesOf(balances: readonly Omit<LedgerBalance, 'object'>[]): Map<string, number> {
  const sums = new Map<string, number>()
  for (const balance of balances) add(sums, balance)
  return sums
}

function add(
  sums: Map<string, number>,
  { account, currency, amount }: { account: string; currency: string; amount: number },
): void {
  const name = `${account} ${currency}`
  sums.set(name, (sums.get(name) ?? 0) + amount)
}
