// The bystander of a lane: a tenant that takes no part in the runs and has used the same
// idempotency key as every run. Its data must never change, neither tenant may see anything of the
// other, and the tenant of a run must not be able to charge the bystander's customer.
import { randomUUID } from 'node:crypto'
import type { Client } from '../../client/index.ts'
import { inTransaction } from '../../src/db/connection/transaction.ts'
import { assignCustomers } from '../../src/db/tenants/provider-customers.ts'
import type { Lane } from './lane.ts'
import type { Violation } from './results.ts'
import { FIRST_KEY, Merchant } from './merchant.ts'
import type { Environment } from './environment.ts'

export type Bystander = Awaited<ReturnType<typeof createBystander>>

export async function createBystander(lane: Lane, signal: AbortSignal) {
  const own = new Merchant(lane, await lane.createTenant(), signal)
  const { client } = own.sender
  const customer = await createCustomer(lane, own.tenant.id)
  const { resource } = await own.pay({
    amount: 777,
    currency: 'eur',
    payment_method: 'pm_card_mastercard',
    customer,
    capture_method: 'automatic',
  })
  const before = await readAll(client)
  return {
    /** Finds what one of the two tenants sees of the other, or does with what is the other's. */
    async findCrossings({ sender, history }: Merchant): Promise<Violation[]> {
      const ids = history.operations.flatMap(({ answers }) => answers[0]?.resource.id ?? [])
      const theirs = ids.find((id) => id.startsWith('pay_'))
      const [records, bystanderStatus, runStatus, chargeStatus] = await Promise.all([
        readAll(client),
        theirs === undefined ? 404 : canSee(client, theirs),
        canSee(sender.client, resource.id ?? ''),
        charge(sender.client, customer),
        readLists(sender.client),
      ])
      const found: string[] = []
      if (records !== before) found.push(`the data of another tenant has changed: ${records}`)
      if (bystanderStatus !== 404)
        found.push(`another tenant gets ${bystanderStatus} for ${theirs}`)
      if (runStatus !== 404) found.push(`the tenant gets ${runStatus} for another tenant's payment`)
      if (CHARGED.includes(chargeStatus)) {
        found.push(`the tenant gets ${chargeStatus} when it charges another tenant's customer`)
      }
      return found.map((what) => ({ invariant: 9, what }))
    },
    /** Finds ids that both tenants got in answers, lists and errors included. */
    findSharedIds({ known }: Merchant): Violation[] {
      const shared = [...known].filter((id) => own.known.has(id))
      return shared.map((id) => ({ invariant: 9, what: `two tenants received ${id}` }))
    },
  }
}

/** The statuses of a payment that was accepted. Limits of a run may refuse one before. */
const CHARGED: readonly number[] = [201, 202, 402]

/** Creates a customer at the provider that the tenant may charge. */
async function createCustomer({ owner, providerUrl, secrets }: Lane, tenantId: string) {
  const response = await fetch(`${providerUrl}/v1/customers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secrets[0]}` },
  })
  const { id } = (await response.json()) as { id: string }
  const assignment = { tenantId, provider: 'stripe', customers: [id] }
  await inTransaction(owner.sql, (tx) => assignCustomers(tx, assignment))
  return id
}

async function charge(client: Client, customer: string): Promise<number> {
  const body = { amount: 999, currency: 'eur', payment_method: 'pm_card_visa', customer }
  const { response } = await client.POST('/v1/payments', { body, idempotencyKey: randomUUID() })
  return response.status
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

/** A lane together with its bystander. */
export interface PreparedLane {
  readonly lane: Lane
  readonly bystander: Bystander
}

interface LanePreparation {
  readonly environment: Pick<Environment, 'startLane'>
  /** Aborted to stop the suite early. */
  readonly signal: AbortSignal
  /** Whether faults may affect the server and its disk. */
  readonly ownServer?: boolean
  /** SQL statements that change the database first. */
  readonly schema?: readonly string[] | undefined
}

/** On a busy machine the processes, or the first payment, may be too slow. */
const TRIES = 3

/** @throws Error of the last attempt when no lane could be started. */
export async function prepareLane(
  { environment, signal, ownServer, schema = [] }: LanePreparation,
  options: Parameters<Environment['startLane']>[0],
): Promise<PreparedLane> {
  for (let tries = 1; ; tries += 1) {
    let lane: Lane | undefined
    try {
      lane = await environment.startLane(options, ownServer)
      for (const statement of schema) await lane.owner.sql.unsafe(statement)
      return { lane, bystander: await createBystander(lane, signal) }
    } catch (error) {
      await lane?.remove()
      if (tries === TRIES || signal.aborted) throw error
    }
  }
}
