// GET /v1/ledger/transactions
import { listLedgerTransactions as readTransactions } from '../db/ledger/ledger-transactions.ts'
import { isCurrency } from '../domain/payments/currency.ts'
import { ledgerKinds } from '../domain/ledger/ledger.ts'
import {
  parseLedgerTransactionId,
  presentLedgerTransaction,
} from '../domain/ledger/ledger-transaction.ts'
import type { TenantEndpoint } from './endpoint.ts'
import { oneOfFilter, paymentFilter, timeFilter } from './list-filters.ts'
import { parseFilteredQuery } from './list-query.ts'
import { showPage } from './show-page.ts'

const filtersKnown = {
  payment: paymentFilter,
  kind: oneOfFilter(`one of ${ledgerKinds.join(', ')}`, ledgerKinds),
  currency: {
    expected: 'one ISO 4217 code in lower case',
    parse: (text: string) => (isCurrency(text) ? text : undefined),
  },
  created_from: timeFilter,
  created_before: timeFilter,
}

export const listLedgerTransactions: TenantEndpoint = async ({ store }, request, tenantId) => {
  const { page, filters } = parseFilteredQuery(
    request.query,
    parseLedgerTransactionId,
    filtersKnown,
  )
  const wanted = {
    paymentId: filters.payment,
    kind: filters.kind,
    currency: filters.currency,
    createdFrom: filters.created_from,
    createdBefore: filters.created_before,
  }
  const transactions = await readTransactions(store.sql, tenantId, wanted, page)
  return showPage(transactions, presentLedgerTransaction)
}
