// Gives each request an id and writes one log line for it. The line never contains bodies or
// headers, because they may contain secrets.
import type { RequestHandler } from 'express'
import type { Logger } from 'pino'
import { newId } from '../ids.ts'

export function logRequests(logger: Logger): RequestHandler {
  return (req, res, next) => {
    const startedMs = performance.now()
    const { method, path } = req
    const requestId = newId('req')
    res.setHeader('Request-Id', requestId)
    res.once('close', () => {
      logger.info(
        {
          method,
          path,
          status: res.headersSent ? res.statusCode : null,
          complete: res.writableFinished,
          duration_ms: Math.round(performance.now() - startedMs),
          request_id: requestId,
          fault: res.locals['fault'] as string | undefined,
        },
        'request',
      )
    })
    next()
  }
}
