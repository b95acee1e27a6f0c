"""Scoring of pandas, Polars and Arrow tables: conversion, and scores as tables of the same kind."""
