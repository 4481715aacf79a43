// The service that the test files of one jest worker share. It runs outside of the test files, in
// the worker's own realm, and ends with the worker: its processes notice that their IPC channel
// closes.
import type { Socket } from 'node:net'
import { createTestDatabase } from '../database.ts'
import { startServiceParts, type ServicePlace } from '../service-parts.ts'
import { startScript } from '../start-script.ts'

let place: Promise<ServicePlace> | undefined

/** Starts the service at the first call. Every call returns where it runs. */
export function startWorkerService(): Promise<ServicePlace> {
  return (place ??= start())
}

async function start(): Promise<ServicePlace> {
  const { url } = await createTestDatabase()
  const { databaseUrl, apiUrl, providerUrl, settings } = await startServiceParts(startDetached, {
    databaseUrl: url,
    settings: { WEBHOOK_ALLOW_INSECURE: 'true' },
  })
  return { databaseUrl, apiUrl, providerUrl, settings }
}

/** Starts a script that does not keep this process alive. */
const startDetached: typeof startScript = (...options) => {
  const started = startScript(...options)
  const { child } = started
  child.unref()
  child.channel?.unref()
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null && 'unref' in stream) (stream as Socket).unref()
  }
  return started
}
