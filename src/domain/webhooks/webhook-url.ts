// The form of a URL that webhooks are sent to. It is checked when an endpoint is made and again at each
// attempt; which addresses its name leads to is found out and checked when it is dialled.
import { isIP } from 'node:net'
import { isDialable } from './dialable-address.ts'

/** A URL, or the reason why it is refused. */
export type CheckedUrl = { readonly url: URL } | { readonly refusal: string }

/**
 * Reads the URL of a webhook endpoint: https, without credentials and without a fragment. Any port is
 * good: nothing of a request is sent before a TLS handshake, so that no other protocol can be spoken to.
 * `URL` brings IPv4 in octal, hexadecimal or as one number into the usual form before it is checked.
 *
 * @param allowInsecure whether http and this machine's own addresses are good, too.
 */
export function checkWebhookUrl(
  text: string,
  { allowInsecure }: { allowInsecure: boolean },
): CheckedUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) return { refusal: 'It is not an absolute URL.' }
  if (url.protocol !== 'https:' && !(allowInsecure && url.protocol === 'http:')) {
    return { refusal: 'Its scheme must be https.' }
  }
  if (url.username !== '' || url.password !== '') {
    return { refusal: 'It must not have credentials.' }
  }
  if (url.hash !== '') return { refusal: 'It must not have a fragment.' }
  const host = hostOf(url)
  if (isIP(host) !== 0 && !isDialable(host, { allowLoopback: allowInsecure })) {
    return { refusal: 'Its address is not one of the public internet.' }
  }
  return { url }
}

/** The name or the address of a URL, an IPv6 address without its brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}
