// The cookie with the token of a session. A script of the page cannot read it, and a browser sends it
// with no request that begins at another site.
import type { Request } from 'express'
import { headerLines } from '../endpoint.ts'

const NAME = 'atomic_console'

/** A browser accepts a cookie with this prefix only by https, and only for this one host. */
const PREFIX = '__Host-'

const TOKEN = /^[A-Za-z0-9_-]{43}$/

/** Whether the request has a cookie of the console, valid or not. */
export function hasSessionCookie(request: Request): boolean {
  return cookieValues(request).length > 0
}

/** Returns the token of the request; undefined when the cookie is repeated or has another form. */
export function readSessionToken(request: Request): string | undefined {
  const [token = '', ...others] = cookieValues(request)
  return others.length === 0 && TOKEN.test(token) ? token : undefined
}

/** Makes the browser keep the token until it is closed. */
export function setSessionCookie(request: Request, token: string): Record<string, string> {
  return { 'set-cookie': `${nameFor(request)}=${token}; ${attributesFor(request)}` }
}

/** Makes the browser forget the token. */
export function clearSessionCookie(request: Request): Record<string, string> {
  return { 'set-cookie': `${nameFor(request)}=; ${attributesFor(request)}; Max-Age=0` }
}

function cookieValues(request: Request): string[] {
  const beginning = `${nameFor(request)}=`
  return headerLines(request, 'cookie')
    .flatMap((line) => line.split(';'))
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(beginning))
    .map((pair) => pair.slice(beginning.length))
}

function nameFor({ secure }: Request): string {
  return secure ? `${PREFIX}${NAME}` : NAME
}

function attributesFor({ secure }: Request): string {
  return `Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
}
