// The headers that forbid browsers to run, frame or load anything from an answer. An endpoint that
// serves a page overrides the Content-Security-Policy.

/** Those of helmet that say something for an API. Older browsers know only `x-frame-options`. */
export const securityHeaders = {
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const
