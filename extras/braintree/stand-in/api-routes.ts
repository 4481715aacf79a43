// The routes of Braintree's API that the stand-in answers, below the merchant. Any other is a 404.
import type { Endpoint } from './requests/endpoint.ts'
import { onceByKey } from './requests/request-keys.ts'
import { refusedWith, XML } from './requests/refusals.ts'
import { searchDisputes, searchTransactionIds, searchTransactions } from './requests/searches.ts'
import { renderXml } from './requests/xml.ts'
import { showDispute } from './disputes/dispute.ts'
import {
  adjustAuthorization,
  refundTransaction,
  retrieveTransaction,
  settleTransaction,
  submitForSettlement,
  voidTransaction,
} from './transactions/changes.ts'
import { createSale } from './transactions/sales.ts'

const retrieveDispute: Endpoint = ({ id }, { disputes }) => {
  const dispute = disputes.get(id)
  if (dispute === undefined) throw refusedWith(404)
  return { status: 200, body: renderXml('dispute', showDispute(dispute)), contentType: XML }
}

/** Each account of the merchant is named after its currency: `eur_account`. */
const retrieveMerchantAccount: Endpoint = ({ id }) => {
  const [, currency] = /^([a-z]{3})_account$/.exec(id) ?? []
  if (currency === undefined) throw refusedWith(404)
  const account = { id, currencyIsoCode: currency.toUpperCase(), status: 'active' }
  return { status: 200, body: renderXml('merchantAccount', account), contentType: XML }
}

export const apiRoutes: readonly (readonly ['get' | 'post' | 'put', path: string, Endpoint])[] = [
  ['post', '/transactions', onceByKey(createSale)],
  ['post', '/transactions/advanced_search_ids', searchTransactionIds],
  ['post', '/transactions/advanced_search', searchTransactions],
  ['get', '/transactions/:id', retrieveTransaction],
  ['put', '/transactions/:id/submit_for_settlement', onceByKey(submitForSettlement)],
  ['put', '/transactions/:id/adjust_authorization', adjustAuthorization],
  ['put', '/transactions/:id/void', onceByKey(voidTransaction)],
  ['post', '/transactions/:id/refund', onceByKey(refundTransaction)],
  ['put', '/transactions/:id/settle', settleTransaction],
  ['post', '/disputes/advanced_search', searchDisputes],
  ['get', '/disputes/:id', retrieveDispute],
  ['get', '/merchant_accounts/:id', retrieveMerchantAccount],
]
