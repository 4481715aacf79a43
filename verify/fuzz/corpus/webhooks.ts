// Provider events with an invalid signature or body, and URLs to which no webhook may be sent.
import type { Case } from '../draft.ts'
import { casesOf, post, providerEvent, type Table } from './requests.ts'

const EVENT = {
  id: 'evt_1fuzz',
  object: 'event',
  type: 'payment_intent.succeeded',
  created: 1_767_225_600,
  data: { object: { id: 'pi_fuzz', object: 'payment_intent' } },
}
const signed = (...signatures: readonly string[]) =>
  providerEvent(EVENT, { headers: { 'stripe-signature': signatures } })
const eventWith = (fields: object) => providerEvent({ ...EVENT, ...fields })
const endpointAt = (url: string) => post('/v1/webhook-endpoints', { url })
const HEX = '0'.repeat(64)

// prettier-ignore
const table: Table = {
  'webhook-signature-invalid': {
    'a body that is not UTF-8': providerEvent('{"id":"\u00E9"}'),
    'no signature': signed(),
    'a timestamp without a signature': signed('t=1767225600'),
    'a signature without a timestamp': signed(`v1=${HEX}`),
    'an older signature version': signed(`t=1767225600,v0=${HEX}`),
    'a timestamp that is not a number': signed(`t=now,v1=${HEX}`),
    'a timestamp beyond the largest double': signed(`t=1e400,v1=${HEX}`),
    'a signature that is too short': signed('t=1767225600,v1=00'),
    'two valid signatures': signed('{{stripe-signature}}', '{{stripe-signature}}'),
    'a signature of ten thousand letters': signed('{{letters-10000}}'),
    'an API key instead of a signature': providerEvent(EVENT, { headers: { 'stripe-signature': null, authorization: 'Bearer {{tenant-key}}' } }),
  },
  'webhook-too-old': {
    'signed an hour ago': signed('{{late-stripe-signature}}'),
    'signed for an hour later': signed('{{early-stripe-signature}}'),
  },
  'webhook-malformed': {
    'not JSON': providerEvent('{"id":'),
    'no bytes': providerEvent(''),
    'an array': providerEvent([EVENT]),
    'null': providerEvent('null'),
    'another object': providerEvent({ id: 'pi_1', object: 'payment_intent' }),
    'an event without an id': eventWith({ id: undefined }),
    'an event whose id is a number': eventWith({ id: 7 }),
    'an event whose id has a space': eventWith({ id: 'evt 1' }),
    'an event without a type': eventWith({ type: undefined }),
    'an event whose type is SQL': eventWith({ type: "x'; drop table events" }),
    'an event without a timestamp': eventWith({ created: undefined }),
    'an event whose timestamp is a string': eventWith({ created: '1767225600' }),
    'an event with a timestamp beyond all dates': eventWith({ created: 9_007_199_254_740_991 }),
    'an event without data': eventWith({ data: null }),
    'an event about an array': eventWith({ data: { object: [] } }),
  },
  'unsupported-content-type': {
    'an event as a form': providerEvent(EVENT, { headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
  },
  'unsupported-content-encoding': {
    'an event in gzip': providerEvent(EVENT, { headers: { 'content-encoding': 'gzip' } }),
  },
  'body-too-large': {
    'an event of more than a megabyte': providerEvent('{{spaces-1048577}}'),
  },
  'webhook-url-refused': {
    'a URL without a scheme': endpointAt('fuzz.invalid/webhooks'),
    'http': endpointAt('http://fuzz.invalid/'),
    'a fragment': endpointAt('https://fuzz.invalid/#here'),
    'loopback': endpointAt('https://127.0.0.1/'),
    'the metadata service of a cloud': endpointAt('https://169.254.169.254/latest/meta-data/'),
    'loopback of IPv6': endpointAt('https://[::1]/'),
    'the unspecified address of IPv6': endpointAt('https://[::]/'),
    'loopback by 6to4': endpointAt('https://[2002:7f00:1::]/'),
    'a link-local address of IPv6': endpointAt('https://[fe80::1]/'),
    'a private network of IPv6': endpointAt('https://[fd00::1]/'),
    'an invalid port': endpointAt('https://fuzz.invalid:99999/'),
    'a change to the metadata service of a cloud': post('/v1/webhook-endpoints/{{webhook-endpoint}}', { url: 'https://169.254.169.254/' }),
    'no host': endpointAt('https:///'),
    'a space in the host': endpointAt('https://fuzz invalid/'),
  },
  'webhook-endpoint-disabled': {
    'a redelivery to a deleted endpoint': post('/v1/webhook-deliveries/{{webhook-delivery}}/redeliver', null),
  },
}

export const webhooks: readonly Case[] = casesOf('webhooks', table)
