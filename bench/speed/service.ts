// Starts the service that a benchmark measures, with completed payments in its tables.
import { startDatabase, type Measuring } from '../benchmark.ts'
import { seedAll } from '../seed.ts'
import { UNLIMITED, type BenchStack, type BenchTenant, type Services } from '../stack.ts'
import { payOnce, type CompletedKey } from './payment-requests.ts'
import type { RoundParts } from './rounds.ts'

const COMPLETED_KEYS = 200

export async function startMeasured(measuring: Measuring) {
  const { stack, options, progress, signal } = measuring
  const machine = await startDatabase(measuring)
  const tenants = await stack.createTenants()
  const keys = options.payments
  await seedAll(stack.owner.sql, { keys, tenants }, progress.begin('Seeding', keys))
  progress.say('Starting the service')
  const services = await stack.startServices(UNLIMITED)
  const [tenant] = tenants
  if (tenant === undefined) throw new Error('the stack has no tenant')
  const completed: CompletedKey[] = []
  while (completed.length < COMPLETED_KEYS) {
    signal.throwIfAborted()
    completed.push(await payOnce(services.apiUrl, tenant))
  }
  const parts = await roundPartsOf(measuring, stack, services, { tenant, completed })
  return { machine, tenants, services, parts }
}

export async function roundPartsOf(
  { progress, signal }: Measuring,
  stack: BenchStack,
  { apiUrl, providerUrl, api, worker }: Services,
  paying: { readonly tenant: BenchTenant; readonly completed: readonly CompletedKey[] },
): Promise<RoundParts> {
  return {
    place: { apiUrl, providerUrl, ...paying, signal },
    owner: stack.owner.sql,
    nodePids: [api.pid, worker.pid],
    postgresPid: await stack.postgresPid(),
    workerPid: worker.pid,
    progress,
    signal,
  }
}
