// Serves an API inside the test process, on a free port.
import type { Server } from 'node:http'
import type { ApiParts } from '../../src/http/endpoint.ts'
import { createApiServer, type ServerTimeouts } from '../../src/http/limits/api-server.ts'
import { createApp } from '../../src/http/server/app.ts'
import { listening } from './listening.ts'

export interface ServedApi {
  readonly url: string
  readonly parts: ApiParts
  readonly server: Server
  /** Closes its connections and its store. */
  stop(): Promise<void>
}

export async function serveApi(parts: ApiParts, timeouts?: ServerTimeouts): Promise<ServedApi> {
  const server = createApiServer(createApp(parts), parts, timeouts)
  const { url, stop } = await listening(server)
  return {
    url,
    parts,
    server,
    async stop() {
      parts.keyed.watch.stop()
      parts.keyed.answers.close()
      await stop()
      await parts.store.close()
    },
  }
}
