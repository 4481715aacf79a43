// Checks the form of a webhook URL, when an endpoint is created and again before each attempt. The
// addresses behind its host name are resolved and checked when it is dialled.
import { isIP } from 'node:net'
import { isDialable } from './dialable-address.ts'

/** A valid URL, or the reason why it is refused. */
export type CheckedUrl = { readonly url: URL } | { readonly refusal: string }

/**
 * Reads the URL of a webhook endpoint: https, without credentials, without a fragment and without
 * control characters, some of which `URL` would drop in silence. Any port is allowed: nothing is sent before the TLS handshake, so servers of other protocols receive no
 * request. `URL` converts IPv4 addresses in octal, in hexadecimal or as one number into the usual
 * form.
 *
 * @param allowInsecure whether http and this machine's own addresses are allowed, too.
 */
export function checkWebhookUrl(
  text: string,
  { allowInsecure }: { allowInsecure: boolean },
): CheckedUrl {
  if (/\p{Cc}/u.test(text)) return { refusal: 'It must not contain control characters.' }
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) return { refusal: 'It is not an absolute URL.' }
  if (url.protocol !== 'https:' && !(allowInsecure && url.protocol === 'http:')) {
    return { refusal: 'Its scheme must be https.' }
  }
  if (url.username !== '' || url.password !== '') {
    return { refusal: 'It must not contain credentials.' }
  }
  if (url.hash !== '') return { refusal: 'It must not contain a fragment.' }
  const host = hostOf(url)
  if (isIP(host) !== 0 && !isDialable(host, { allowLoopback: allowInsecure })) {
    return { refusal: 'Its address is not a public internet address.' }
  }
  return { url }
}

/** The host name or address of a URL; an IPv6 address without its brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}
