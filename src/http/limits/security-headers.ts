// Sets the headers that forbid browsers to run, frame or load anything from an answer. An endpoint
// that serves a page overrides the Content-Security-Policy.
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
    // For browsers that are no longer in use, or without meaning for an API.
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  })
}
