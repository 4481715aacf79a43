// What the tests of a file or of a `describe` share. It starts before them and stops after them. Each function
// is called where its result is declared; the result has its members from the first test on.
import { afterAll, beforeAll } from '@jest/globals'
import { startAdminApi, type AdminApi } from './admin.ts'
import { startLimitedApi, type LimitedApi } from './limited-api.ts'
import type { ServedApi } from './served-api.ts'
import { startServiceInProcess, type ServiceInProcess } from './service-in-process.ts'
import { startService, type OwnService, type Tenant } from './service.ts'

/**
 * One attempt and no retry, so that an operation without a final outcome stops at once. Unknown outcomes are
 * looked up only on request.
 */
export const ONE_TRY = {
  CALL_ATTEMPTS: '1',
  JOB_RETRY_LIMIT: '0',
  PROVIDER_OUTAGE_SECONDS: '0',
  CHECK_DELAYS_SECONDS: '3600',
}

export function forFile<Started extends { stop(): Promise<unknown> }>(
  start: () => Promise<Started>,
): Started {
  const started = {} as Started
  beforeAll(async () => void Object.assign(started, await start()))
  afterAll(() => started.stop())
  return started
}

export const adminApi = (...options: Parameters<typeof startAdminApi>): AdminApi =>
  forFile(() => startAdminApi(...options))

export const limitedApi = (...options: Parameters<typeof startLimitedApi>): LimitedApi =>
  forFile(() => startLimitedApi(...options))

/** Another API of a limited one, which is declared before it and stops it. */
export function anotherApi(api: LimitedApi, settings: Record<string, string>): ServedApi {
  const served = {} as ServedApi
  beforeAll(async () => void Object.assign(served, await api.serve(settings)))
  return served
}

export const ownService = (...options: Parameters<typeof startService>): OwnService =>
  forFile(() => startService(...options))

export const serviceInProcess = (
  ...options: Parameters<typeof startServiceInProcess>
): ServiceInProcess => forFile(() => startServiceInProcess(...options))

/** A tenant of the service, which is declared before it. */
export function tenantOf(service: { createTenant(): Promise<Tenant> }): Tenant {
  const tenant = {} as Tenant
  beforeAll(async () => void Object.assign(tenant, await service.createTenant()))
  return tenant
}
