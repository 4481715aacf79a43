// GET /v1/ledger/balances, GET /v1/ledger/transactions and GET /v1/ledger/transactions/:id: return
// the ledger of a tenant.
import {
  readLedgerBalances,
  listLedgerTransactions as readTransactions,
  findLedgerTransaction,
} from '../../db/ledger/ledger-transactions.ts'
import {
  presentLedgerBalance,
  parseLedgerTransactionId,
  presentLedgerTransaction,
} from '../../domain/ledger/ledger-transaction.ts'
import { showJson } from '../responses/answer.ts'
import type { TenantEndpoint } from '../endpoint.ts'
import { refuseQuery, parseFilteredQuery } from '../requests/list-query.ts'
import { ledgerKinds } from '../../domain/ledger/ledger.ts'
import { currencyFilter, oneOfFilter, paymentFilter, timeFilter } from '../requests/list-filters.ts'
import { showPage } from '../responses/page-answer.ts'
import { ProblemError } from '../../domain/problems/problem-error.ts'

export const listLedgerBalances: TenantEndpoint = async ({ store }, request, tenantId) => {
  refuseQuery(request.query)
  const balances = await readLedgerBalances(store.sql, tenantId)
  return showJson({ object: 'list', data: balances.map(presentLedgerBalance), has_more: false })
}

const knownFilters = {
  payment: paymentFilter,
  kind: oneOfFilter(`one of ${ledgerKinds.join(', ')}`, ledgerKinds),
  currency: currencyFilter,
  created_from: timeFilter,
  created_before: timeFilter,
}

export const listLedgerTransactions: TenantEndpoint = async ({ store }, request, tenantId) => {
  const { page, filters } = parseFilteredQuery(
    request.query,
    parseLedgerTransactionId,
    knownFilters,
  )
  const filter = {
    paymentId: filters.payment,
    kind: filters.kind,
    currency: filters.currency,
    createdFrom: filters.created_from,
    createdBefore: filters.created_before,
  }
  const transactions = await readTransactions(store.sql, tenantId, filter, page)
  return showPage(transactions, presentLedgerTransaction)
}

export const getLedgerTransaction: TenantEndpoint = async ({ store }, request, tenantId) => {
  const id = parseLedgerTransactionId(String(request.params['id']))
  const transaction =
    id === undefined ? undefined : await findLedgerTransaction(store.sql, tenantId, id)
  if (transaction === undefined) throw new ProblemError('resource-not-found')
  return showJson(presentLedgerTransaction(transaction))
}
