// What the pages without scripts and styles have in common.

/** They differ for clients that accept no HTML. */
export const VARY = { vary: 'accept' }

export const pageHeaders = {
  ...VARY,
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
}
