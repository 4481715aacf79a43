// The TCP ports of the stack: the one that was asked for, or a free one.
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { StartError } from './start-error.ts'

const LOOPBACK = '127.0.0.1'

/** The processes of a launcher that was killed let go of their ports well within this. */
const ORPHAN_WAIT_MS = 5_000
const POLL_MS = 100

/** A port that nothing listens on now. Another process may take it before the caller does. */
export async function findFreePort(host = LOOPBACK): Promise<number> {
  return tryPort(0, host)
}

/**
 * The port itself once it is free, or any free one for 0.
 *
 * @throws StartError naming the variable when the port stays taken or may not be used.
 */
export async function claimPort(options: {
  variable: string
  port: number
  host?: string
  waitMs?: number
  log: (line: string) => void
}): Promise<number> {
  const { variable, port, host = LOOPBACK, waitMs = ORPHAN_WAIT_MS, log } = options
  const deadline = performance.now() + waitMs
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await tryPort(port, host)
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      if (code !== 'EADDRINUSE' || performance.now() >= deadline) {
        throw new StartError(`${variable}=${port} cannot be used: ${message}`)
      }
      if (attempt === 1) log(`port ${port} is taken: waiting a moment for it (${variable} sets it)`)
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
