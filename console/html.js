// Binds htm to preact. Every text in a template becomes a text node, even if it contains markup.
import { h } from 'preact'
import htm from 'htm'

export const html = htm.bind(h)

/** @typedef {ReturnType<typeof html>} Html */
