// Controls the listening socket of a server: opens it, closes it, and closes it for some time when
// a fault refuses new connections.
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Address {
  host: string
  port: number
}

export type Listener = ReturnType<typeof createListener>

/** The pause before the next attempt when another socket uses the port. */
const REOPEN_RETRY_MS = 20

/** After this time, a client that is slow to send its request no longer delays the close. */
const CLOSE_GRACE_MS = 500

/** Longer than Node's five seconds, which a client on a busy machine meets with its next request. */
const KEEP_ALIVE_MS = 75_000

export function createListener(server: Server) {
  server.keepAliveTimeout = KEEP_ALIVE_MS
  let reopenTimer: NodeJS.Timeout | undefined

  /** Starts to listen and returns the port. Port 0 picks a free one. */
  const listen = async ({ host, port }: Address) => {
    const listening = once(server, 'listening')
    server.listen(port, host)
    await listening
    return (server.address() as AddressInfo).port
  }

  const reopenAfter = (milliseconds: number, address: Address) => {
    reopenTimer = setTimeout(() => {
      listen(address).then(
        () => (reopenTimer = undefined),
        () => reopenAfter(REOPEN_RETRY_MS, address),
      )
    }, milliseconds)
  }

  return {
    listen,
    isRefusing: () => reopenTimer !== undefined,
    /** Refuses all new connections for that time, and closes idle ones. */
    refuseFor: (milliseconds: number) => {
      if (reopenTimer !== undefined) return
      const { address, port } = server.address() as AddressInfo
      server.close()
      reopenAfter(milliseconds, { host: address, port })
    },
    close: async () => {
      clearTimeout(reopenTimer)
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      const grace = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS)
      await closed
      clearTimeout(grace)
    },
  }
}
