// The bystander of a lane: a tenant that takes no part in the runs and has used the same
// idempotency key as every run. Its data must never change, and neither tenant may see anything of
// the other.
import type { Client } from '../../client/index.ts'
import type { Lane } from './lane.ts'
import type { Violation } from './results.ts'
import { FIRST_KEY, Merchant } from './merchant.ts'

export class Bystander {
  readonly #merchant: Merchant
  readonly #payment: string
  readonly #records: string

  private constructor(merchant: Merchant, payment: string, records: string) {
    this.#merchant = merchant
    this.#payment = payment
    this.#records = records
  }

  static async create(lane: Lane, signal: AbortSignal): Promise<Bystander> {
    const merchant = new Merchant(lane, await lane.createTenant(), signal)
    const { resource } = await merchant.pay({
      amount: 777,
      currency: 'eur',
      payment_method: 'pm_card_mastercard',
      capture_method: 'automatic',
    })
    return new Bystander(merchant, resource.id ?? '', await readAll(merchant.sender.client))
  }

  /** Finds what one of the two tenants sees of the other. */
  async findCrossings({ sender, history }: Merchant): Promise<Violation[]> {
    const ids = history.operations.flatMap(({ answers }) => answers[0]?.resource.id ?? [])
    const theirs = ids.find((id) => id.startsWith('pay_'))
    const [records, bystanderStatus, runStatus] = await Promise.all([
      readAll(this.#merchant.sender.client),
      theirs === undefined ? 404 : canSee(this.#merchant.sender.client, theirs),
      canSee(sender.client, this.#payment),
      readLists(sender.client),
    ])
    const found: string[] = []
    if (records !== this.#records) found.push(`the data of another tenant has changed: ${records}`)
    if (bystanderStatus !== 404) found.push(`another tenant gets ${bystanderStatus} for ${theirs}`)
    if (runStatus !== 404) found.push(`the tenant gets ${runStatus} for another tenant's payment`)
    return found.map((what) => ({ invariant: 9, what }))
  }

  /** Finds ids that both tenants got in answers, lists and errors included. */
  findSharedIds({ known }: Merchant): Violation[] {
    const shared = [...known].filter((id) => this.#merchant.known.has(id))
    return shared.map((id) => ({ invariant: 9, what: `two tenants received ${id}` }))
  }
}

async function canSee(client: Client, id: string): Promise<number> {
  const { response } = await client.GET('/v1/payments/{id}', { params: { path: { id } } })
  return response.status
}

async function readAll(client: Client): Promise<string> {
  const [lists, balances, key] = await Promise.all([
    readLists(client),
    client.GET('/v1/ledger/balances'),
    client.GET('/v1/idempotency-keys/{key}', { params: { path: { key: FIRST_KEY } } }),
  ])
  return lists + JSON.stringify([balances.data, key.data])
}

async function readLists(client: Client): Promise<string> {
  const all = await Promise.all([
    client.GET('/v1/payments'),
    client.GET('/v1/events'),
    client.GET('/v1/ledger/transactions'),
  ])
  return JSON.stringify(all.map(({ data }) => data))
}
