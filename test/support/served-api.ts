// Serves an API inside the test process, on a free port.
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ApiParts } from '../../src/http/endpoint.ts'
import { createApiServer, type ServerTimeouts } from '../../src/http/limits/api-server.ts'
import { createApp } from '../../src/http/server/app.ts'

export interface ServedApi {
  readonly url: string
  readonly parts: ApiParts
  readonly server: Server
  /** Closes its connections and its store. */
  stop(): Promise<void>
}

export async function serveApi(parts: ApiParts, timeouts?: ServerTimeouts): Promise<ServedApi> {
  const server = createApiServer(createApp(parts), parts, timeouts).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    parts,
    server,
    async stop() {
      parts.watch.stop()
      parts.answers.close()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
      await parts.store.close()
    },
  }
}
