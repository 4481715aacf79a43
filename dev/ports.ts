// Chooses the TCP ports of the stack: the configured port, or a free one.
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { StartError } from './start-error.ts'

const LOOPBACK = '127.0.0.1'

/** Processes whose launcher was killed end, and release their ports, within this time. */
const ORPHAN_WAIT_MS = 5_000
const POLL_MS = 100

/** Finds a free port. Another process may bind it before the caller does. */
export async function findFreePort(host = LOOPBACK): Promise<number> {
  return tryPort(0, host)
}

/**
 * Returns the port as soon as it is free, or any free port for 0.
 *
 * @throws StartError that names the variable, when the port stays in use or may not be bound.
 */
export async function claimPort(options: {
  variable: string
  port: number
  host?: string
  log: (line: string) => void
}): Promise<number> {
  const { variable, port, host = LOOPBACK, log } = options
  const deadline = performance.now() + ORPHAN_WAIT_MS
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await tryPort(port, host)
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (code !== 'EADDRINUSE' || performance.now() >= deadline) {
        throw new StartError(
          `${variable}=${port} cannot be used: ${message}. Free this port, or set ${variable} to ` +
            'another one (0 picks a free port).',
        )
      }
      if (attempt === 1) {
        const limit = `waiting up to ${ORPHAN_WAIT_MS} ms`
        log(`${variable}=${port} is in use; ${limit} for the port to become free`)
      }
      await delay(POLL_MS)
    }
  }
}

async function tryPort(port: number, host: string): Promise<number> {
  const probe = createServer().listen(port, host)
  await once(probe, 'listening')
  const { port: bound } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return bound
}
