import { describe, expect, test } from '@jest/globals'
import { isDialable } from '../../../src/domain/webhooks/dialable-address.ts'

const strict = { allowLoopback: false }
const local = { allowLoopback: true }

describe('an address of the public internet may be dialled', () => {
  test.each([
    ['IPv4', '93.184.215.14'],
    ['IPv4 just above private', '11.0.0.0'],
    ['IPv4 just below what carriers share', '100.63.255.255'],
    ['IPv4 just above what carriers share', '100.128.0.0'],
    ['IPv4 just below the second private network', '172.15.255.255'],
    ['IPv4 just above it', '172.32.0.0'],
    ['the last IPv4 before multicast', '223.255.255.255'],
    ['IPv6', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
    ['IPv6 of a resolver', '2001:4860:4860::8888'],
    ['mapped', '::ffff:93.184.215.14'],
    ['mapped, in hexadecimal', '::ffff:5db8:d70e'],
    ['translated', '64:ff9b::5db8:d70e'],
    ['translated, with dots', '64:ff9b::93.184.215.14'],
    ['translated, written out', '0064:ff9b:0000:0000:0000:0000:5db8:d70e'],
    ['translated locally', '64:ff9b:1::5db8:d70e'],
    ['translated locally, under a prefix of 48 bits', '64:ff9b:1:5db8:d7:e00::'],
    ['6to4', '2002:5db8:d70e::1'],
  ])('%s: %s', (_, address) => {
    expect(isDialable(address, strict)).toBe(true)
  })
})

describe('any other address is refused, even if loopback is allowed', () => {
  test.each([
    ['this network', '0.0.0.0'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private, the last', '172.31.255.255'],
    ['private', '192.168.1.1'],
    ['shared by carriers', '100.64.0.1'],
    ['shared by carriers, and metadata', '100.100.100.200'],
    ['link-local, and metadata', '169.254.169.254'],
    ['the host of a machine at Azure', '168.63.129.16'],
    ['protocol assignments', '192.0.0.8'],
    ['documentation', '192.0.2.1'],
    ['documentation', '198.51.100.1'],
    ['documentation', '203.0.113.1'],
    ['relays from IPv6', '192.88.99.1'],
    ['AS112', '192.31.196.1'],
    ['AS112', '192.175.48.1'],
    ['multicast relays', '192.52.193.1'],
    ['benchmarks', '198.19.255.255'],
    ['multicast', '224.0.0.1'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['IPv6 without a value', '::'],
    ['IPv6 link-local', 'fe80::1'],
    ['IPv6 link-local with a zone', 'fe80::1%eth0'],
    ['IPv6 site-local', 'fec0::1'],
    ['IPv6 unique-local', 'fd00:ec2::254'],
    ['IPv6 multicast', 'ff02::1'],
    ['IPv6 documentation', '2001:db8::1'],
    ['IPv6 documentation', '3fff::1'],
    ['AS112', '2620:4f:8000::1'],
    ['IPv6 discard', '100::1'],
    ['mapped loopback', '::ffff:127.0.0.1'],
    ['mapped loopback in hexadecimal', '::ffff:7f00:1'],
    ['mapped private', '::ffff:10.0.0.1'],
    ['mapped private in hexadecimal', '::ffff:a00:1'],
    ['mapped, of this network', '::ffff:0:0'],
    ['compatible loopback', '::127.0.0.1'],
    ['translated loopback', '64:ff9b::7f00:1'],
    ['translated private', '64:ff9b::10.0.0.1'],
    ['translated private in hexadecimal', '64:ff9b::a00:1'],
    ['translated link-local, and metadata', '64:ff9b::169.254.169.254'],
    ['translated shared by carriers', '64:ff9b::100.64.0.1'],
    ['translated, of this network', '64:ff9b::'],
    ['next to the translated ones', '64:ff9b::1:5db8:d70e'],
    ['translated locally, of this network', '64:ff9b:1::1'],
    ['translated locally, without an address', '64:ff9b:1::'],
    ['translated locally and private', '64:ff9b:1::192.168.1.1'],
    ['translated locally and private, under a prefix of 48 bits', '64:ff9b:1:a00:0:100::'],
    ['translated locally and private, under a prefix of 56 bits', '64:ff9b:1:a:0:1:5db8:d70e'],
    ['translated locally and private, under a prefix of 64 bits', '64:ff9b:1:0:a:0:100::'],
    ['translated locally, private or public', '64:ff9b:1:a00:0:100:5db8:d70e'],
    ['6to4 around private', '2002:a00:1::1'],
    ['6to4 around loopback', '2002:7f00:1::'],
    ['6to4 around metadata', '2002:a9fe:a9fe::1'],
    ['Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
    ['a name', 'localhost'],
    ['a number', '2130706433'],
    ['nothing', ''],
  ])('%s: %s', (_, address) => {
    expect(isDialable(address, strict)).toBe(false)
    expect(isDialable(address, local)).toBe(false)
  })
})

describe('loopback may be dialled only if that is allowed', () => {
  test.each(['127.0.0.1', '127.255.255.254', '::1'])('%s', (address) => {
    expect(isDialable(address, strict)).toBe(false)
    expect(isDialable(address, local)).toBe(true)
  })
})
