// The headers that tell browsers to do nothing with an answer but show it. An API is not a page: an
// endpoint that serves one sends a Content-Security-Policy of its own.
import type { RequestHandler } from 'express'
import helmet from 'helmet'

const YEAR_SECONDS = 365 * 24 * 60 * 60

export function securityHeaders(): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
    },
    strictTransportSecurity: { maxAge: YEAR_SECONDS },
    xFrameOptions: { action: 'deny' },
    // Of browsers that nobody has any more, or of no meaning for what is no page.
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  })
}
